// Tokens and words of English prose: two factors are in use, and each published figure was made with one.
#pragma once

namespace cli {

constexpr double kWordsPerToken = 0.75;        // of texts: 10 words are 13 to 14 tokens
constexpr double kReadingWordsPerToken = 0.8;  // of reading speeds: 100 ms a token are 480 words a minute

double tokens_of_words(double words, double words_per_token = kWordsPerToken);
double words_per_second(double tokens_per_second, double words_per_token = kWordsPerToken);
double words_per_minute(double tpot_seconds, double words_per_token = kReadingWordsPerToken);

}  // namespace cli
