// Reads Prometheus' text format 0.0.4 strictly, as far as takt writes it.
#pragma once

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace takt_test {

struct PrometheusSample {
    std::string name;
    std::map<std::string, std::string> labels;
    double value = 0;
};

class PrometheusCheck {
public:
    explicit PrometheusCheck(std::string_view text) {
        if (text.empty() || text.back() != '\n') fail("the end", "no line break");
        while (!text.empty()) {
            const size_t end = std::min(text.find('\n'), text.size() - 1);
            line(text.substr(0, end));
            text.remove_prefix(end + 1);
        }
        finish_family();
    }

    const std::vector<std::string>& faults() const { return faults_; }
    const std::vector<PrometheusSample>& samples() const { return samples_; }
    const std::map<std::string, std::string>& types() const { return types_; }
    // The sum of all samples of this name that have the label, if one is given.
    double sum(std::string_view name, const std::string& label = "", std::string_view value = "") const {
        double sum = 0;
        for (const PrometheusSample& sample : samples_) {
            if (sample.name != name) continue;
            const auto it = sample.labels.find(label);
            if (label.empty() || (it != sample.labels.end() && it->second == value)) sum += sample.value;
        }
        return sum;
    }

private:
    void fail(std::string_view where, const std::string& why) {
        faults_.push_back(std::string(where) + ": " + why);
    }
    static bool is_name(std::string_view name) {
        if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
        for (const char c : name) {
            const bool good =
                (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
            if (!good) return false;  // colons are for recording rules
        }
        return true;
    }

    void line(std::string_view text) {
        if (text.starts_with("# HELP ")) return help(text);
        if (text.starts_with("# TYPE ")) return type(text);
        if (text.empty() || text[0] == '#') return fail(text, "neither a sample nor HELP nor TYPE");
        sample(text);
    }
    void help(std::string_view text) {
        finish_family();
        const std::string_view rest = text.substr(7);
        family_ = std::string(rest.substr(0, rest.find(' ')));
        if (!is_name(family_) || !family_.starts_with("takt_")) fail(text, "no name of takt's");
        if (rest.size() < family_.size() + 2) fail(text, "no help");
        if (!families_.insert(family_).second) fail(text, "its samples don't stand together");
        n_of_family_ = 0;
    }
    void type(std::string_view text) {
        const std::string_view rest = text.substr(7);
        const size_t space = rest.find(' ');
        if (rest.substr(0, space) != family_) return fail(text, "no HELP of this name right before");
        const std::string kind(rest.substr(space + 1));
        if (kind != "counter" && kind != "gauge" && kind != "histogram") fail(text, "no type");
        if (kind == "counter" && !family_.ends_with("_total")) fail(text, "a counter that doesn't say so");
        if (n_of_family_ > 0 || !types_.emplace(family_, kind).second) fail(text, "a second TYPE");
    }

    void sample(std::string_view text) {
        PrometheusSample sample;
        const size_t brace = text.find('{');
        if (brace == std::string_view::npos) return fail(text, "no labels");
        sample.name = std::string(text.substr(0, brace));
        std::string_view rest = text.substr(brace + 1);
        while (!rest.empty() && rest[0] != '}') {
            if (!label(rest, sample)) return fail(text, "labels can't be read");
        }
        if (!rest.starts_with("} ")) return fail(text, "no value");
        const std::string number(rest.substr(2));
        char* end = nullptr;
        sample.value = std::strtod(number.c_str(), &end);
        if (number.empty() || *end != '\0') return fail(text, "no number");
        if (!std::isfinite(sample.value)) fail(text, "not finite");
        // The one number that may be less than nothing.
        if (sample.value < 0 && sample.name != "takt_smooth_benefit_tokens") fail(text, "negative");
        if (!is_name(sample.name)) fail(text, "no name");
        if (!belongs(sample)) fail(text, "HELP and TYPE of its name don't stand before it");
        if (!sample.labels.contains("model_name") || !sample.labels.contains("engine"))
            fail(text, "model_name or engine is missing");
        if (!series_.insert(std::string(text.substr(0, text.size() - number.size()))).second)
            fail(text, "told twice");
        ++n_of_family_;
        samples_.push_back(std::move(sample));
    }
    // One name="value" and the comma behind it.
    static bool label(std::string_view& rest, PrometheusSample& sample) {
        const size_t equals = rest.find("=\"");
        if (equals == std::string_view::npos) return false;
        const std::string name(rest.substr(0, equals));
        std::string value;
        size_t i = equals + 2;
        for (; i < rest.size() && rest[i] != '"'; ++i) {
            if (rest[i] != '\\') {
                value += rest[i];
                continue;
            }
            if (++i == rest.size() || (rest[i] != '\\' && rest[i] != '"' && rest[i] != 'n')) return false;
            value += rest[i] == 'n' ? '\n' : rest[i];
        }
        if (i == rest.size() || !is_name(name) || !sample.labels.emplace(name, value).second) return false;
        rest.remove_prefix(i + 1);
        if (rest.starts_with(',')) rest.remove_prefix(1);
        return true;
    }
    bool belongs(const PrometheusSample& sample) const {
        const auto type = types_.find(family_);
        if (type == types_.end()) return false;
        if (type->second != "histogram") return sample.name == family_;
        const bool is_bucket = sample.name == family_ + "_bucket";
        if (is_bucket != sample.labels.contains("le")) return false;
        return is_bucket || sample.name == family_ + "_sum" || sample.name == family_ + "_count";
    }

    // Of a histogram: buckets grow, the last one is +Inf and holds _count.
    void finish_family() {
        if (family_.empty()) return;
        if (!types_.contains(family_)) return fail(family_, "no TYPE");
        if (n_of_family_ == 0) fail(family_, "no samples");
        if (types_[family_] != "histogram") return;
        struct Series {
            double le = -1, cumulative = 0, count = -1, sum = -1;
            bool good = true;
        };
        std::map<std::map<std::string, std::string>, Series> all;
        for (size_t i = samples_.size() - n_of_family_; i < samples_.size(); ++i) {
            std::map<std::string, std::string> labels = samples_[i].labels;
            const std::string le = labels.contains("le") ? labels["le"] : "";
            labels.erase("le");
            Series& series = all[labels];
            if (samples_[i].name.ends_with("_bucket")) {
                const double edge = le == "+Inf" ? HUGE_VAL : std::strtod(le.c_str(), nullptr);
                series.good = series.good && edge > series.le && samples_[i].value >= series.cumulative;
                series.le = edge;
                series.cumulative = samples_[i].value;
            } else {
                (samples_[i].name.ends_with("_sum") ? series.sum : series.count) = samples_[i].value;
            }
        }
        for (const auto& [labels, series] : all) {
            if (!series.good) fail(family_, "buckets that don't grow");
            if (series.le != HUGE_VAL || series.cumulative != series.count)
                fail(family_, "_count is not the bucket +Inf");
            if (series.sum < 0 || (series.count == 0 && series.sum != 0)) fail(family_, "_sum is wrong");
        }
    }

    std::vector<std::string> faults_;
    std::vector<PrometheusSample> samples_;
    std::map<std::string, std::string> types_;
    std::set<std::string> families_, series_;
    std::string family_;
    size_t n_of_family_ = 0;
};

}  // namespace takt_test
