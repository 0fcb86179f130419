// strftime of the C locale in UTC, without the process's time zone or locale.
#include <array>

#include "tokenizer/jinja/evaluator.h"

namespace takt::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};

struct Moment {
    int64_t year;
    int64_t month;  // 1 to 12
    int64_t day;    // 1 to 31
    int64_t hour, minute, second;
    int64_t week_day;  // 0 is Sunday
    int64_t year_day;  // 0 is January 1st
};

int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}
bool leap(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

Moment moment(int64_t unix_seconds) {
    const int64_t days = floor_divide(unix_seconds, 86400);
    const int64_t seconds = unix_seconds - days * 86400;
    // Years of 365.2425 days that begin in March, so that the leap day ends one.
    const int64_t shifted = days + 719468;
    const int64_t era = floor_divide(shifted, 146097);
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * day_of_year + 2) / 153;
    Moment m{};
    m.day = day_of_year - (153 * month + 2) / 5 + 1;
    m.month = month < 10 ? month + 3 : month - 9;
    m.year = year_of_era + era * 400 + (m.month <= 2 ? 1 : 0);
    m.hour = seconds / 3600;
    m.minute = seconds / 60 % 60;
    m.second = seconds % 60;
    m.week_day = (days % 7 + 11) % 7;
    static constexpr int64_t kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    m.year_day = kBefore[m.month - 1] + m.day - 1 + (m.month > 2 && leap(m.year) ? 1 : 0);
    return m;
}

// ISO 8601: week 1 holds the year's first Thursday.
std::pair<int64_t, int64_t> iso_year_week(const Moment& m) {
    const int64_t monday_first = (m.week_day + 6) % 7;
    int64_t week = (m.year_day - monday_first + 10) / 7;
    const auto weeks_in = [](int64_t year) {
        const auto first = [](int64_t y) { return (y + y / 4 - y / 100 + y / 400) % 7; };
        return first(year) == 4 || first(year - 1) == 3 ? 53 : 52;
    };
    if (week < 1) return {m.year - 1, weeks_in(m.year - 1)};
    if (week > weeks_in(m.year)) return {m.year + 1, 1};
    return {m.year, week};
}

std::string number(int64_t value, int width, char flag, char fill = '0') {
    if (flag == '-') return fmt::format("{}", value);
    if (flag == '_') fill = ' ';
    if (flag == '0') fill = '0';
    return fill == '0' ? fmt::format("{:0{}}", value, width) : fmt::format("{:{}}", value, width);
}

std::string directive(char code, char flag, const Moment& m, int64_t unix_seconds) {
    const int64_t hour12 = m.hour % 12 == 0 ? 12 : m.hour % 12;
    const auto day = kDays[static_cast<size_t>(m.week_day)];
    const auto month = kMonths[static_cast<size_t>(m.month - 1)];
    switch (code) {
        case 'Y':
            return number(m.year, 1, flag);
        case 'C':
            return number(m.year / 100, 2, flag);
        case 'y':
            return number(m.year % 100, 2, flag);
        case 'm':
            return number(m.month, 2, flag);
        case 'd':
            return number(m.day, 2, flag);
        case 'e':
            return number(m.day, 2, flag, ' ');
        case 'H':
            return number(m.hour, 2, flag);
        case 'k':
            return number(m.hour, 2, flag, ' ');
        case 'I':
            return number(hour12, 2, flag);
        case 'l':
            return number(hour12, 2, flag, ' ');
        case 'M':
            return number(m.minute, 2, flag);
        case 'S':
            return number(m.second, 2, flag);
        case 'f':
            return "000000";
        case 'j':
            return number(m.year_day + 1, 3, flag);
        case 'A':
            return std::string(day);
        case 'a':
            return std::string(day.substr(0, 3));
        case 'B':
            return std::string(month);
        case 'b':
        case 'h':
            return std::string(month.substr(0, 3));
        case 'p':
            return m.hour < 12 ? "AM" : "PM";
        case 'P':
            return m.hour < 12 ? "am" : "pm";
        case 'w':
            return number(m.week_day, 1, flag);
        case 'u':
            return number(m.week_day == 0 ? 7 : m.week_day, 1, flag);
        case 'U':
            return number((m.year_day + 7 - m.week_day) / 7, 2, flag);
        case 'W':
            return number((m.year_day + 7 - (m.week_day + 6) % 7) / 7, 2, flag);
        case 'V':
            return number(iso_year_week(m).second, 2, flag);
        case 'G':
            return number(iso_year_week(m).first, 1, flag);
        case 's':
            return number(unix_seconds, 1, flag);
        case 'n':
            return "\n";
        case 't':
            return "\t";
        case 'z':
        case 'Z':
            return "";  // a time without a zone, as datetime.now() is
        case '%':
            return "%";
        default:
            return flag ? std::string{'%', flag, code} : std::string{'%', code};
    }
}

std::string_view composed(char code) {
    switch (code) {
        case 'F':
            return "%Y-%m-%d";
        case 'D':
        case 'x':
            return "%m/%d/%y";
        case 'T':
        case 'X':
            return "%H:%M:%S";
        case 'R':
            return "%H:%M";
        case 'r':
            return "%I:%M:%S %p";
        case 'c':
            return "%a %b %e %H:%M:%S %Y";
        default:
            return {};
    }
}

}  // namespace

std::string format_time(std::string_view format, int64_t unix_seconds) {
    const Moment m = moment(unix_seconds);
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 == format.size()) {
            out += format[i];
            continue;
        }
        char flag = 0;
        if (i + 2 < format.size() && (format[i + 1] == '-' || format[i + 1] == '_' || format[i + 1] == '0'))
            flag = format[++i];
        const char code = format[++i];
        const std::string_view parts = composed(code);
        out += parts.empty() ? directive(code, flag, m, unix_seconds) : format_time(parts, unix_seconds);
    }
    return out;
}

}  // namespace takt::jinja
