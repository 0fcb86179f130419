// The expressions of DeepSeek's tokenizers, which spell characters out by range.
#include <algorithm>
#include <iterator>

#include "tokenizer/split_scanners.h"

namespace takt {
namespace {

struct Range {
    uint32_t first;
    uint32_t last;
};

// Letters that have a case, as far as that tokenizer lists them.
constexpr Range kCasedLetters[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},       {0xD8, 0xF6},
    {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},     {0x295, 0x2AF},     {0x370, 0x373},
    {0x376, 0x377},     {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
    {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},
    {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},
    {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},
    {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},
    {0x210A, 0x2113},   {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},
    {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},   {0xA722, 0xA76F},
    {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},
    {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943}};
// ASCII but digits and space, so letters too; their full-width forms, quotes, the ideographic full stop.
constexpr Range kMarksOfWriting[] = {{0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
                                     {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
constexpr Range kEastAsian[] = {{0x800, 0x9FA5}, {0xAC00, 0xD7FF}};
constexpr Range kHanAndKana[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};

// Ranges ascend.
template <size_t N>
bool holds(const Range (&ranges)[N], const Char& c) {
    if (c.size == 0) return false;
    const auto ends_before = [](const Range& range, uint32_t code_point) { return range.last < code_point; };
    const Range* range = std::lower_bound(std::begin(ranges), std::end(ranges), c.code_point, ends_before);
    return range != std::end(ranges) && range->first <= c.code_point;
}

template <typename In>
size_t end_of(std::string_view part, size_t pos, In in) {
    for (Char c = char_at(part, pos); in(c); c = char_at(part, pos)) pos += c.size;
    return pos;
}

// S?[in]+
template <typename In>
size_t spaced_end(std::string_view part, size_t pos, In in) {
    const Char c = char_at(part, pos);
    if (c.is(kSpace)) {
        const size_t begin = pos + c.size;
        if (const size_t end = end_of(part, begin, in); end > begin) return end;
    }
    return end_of(part, pos, in);
}

}  // namespace

size_t scan_line_break(std::string_view part, size_t pos) {
    return char_at(part, pos).is_line_break() ? pos + 1 : pos;
}
size_t scan_spaced_letters(std::string_view part, size_t pos) {
    return spaced_end(part, pos, [](const Char& c) { return c.is(kLetter); });
}
size_t scan_spaced_punctuation(std::string_view part, size_t pos) {
    return spaced_end(part, pos, [](const Char& c) { return c.is(kPunctuation); });
}
size_t scan_spaced_cased_letters(std::string_view part, size_t pos) {
    return spaced_end(part, pos, [](const Char& c) { return holds(kCasedLetters, c); });
}
size_t scan_spaced_marks_of_writing(std::string_view part, size_t pos) {
    return spaced_end(part, pos, [](const Char& c) { return holds(kMarksOfWriting, c); });
}
size_t scan_east_asian(std::string_view part, size_t pos) {
    return end_of(part, pos, [](const Char& c) { return holds(kEastAsian, c); });
}
size_t scan_han_and_kana(std::string_view part, size_t pos) {
    return end_of(part, pos, [](const Char& c) { return holds(kHanAndKana, c); });
}

}  // namespace takt
