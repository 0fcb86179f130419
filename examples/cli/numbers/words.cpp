// Rates of tokens as rates of words.
#include "numbers/words.h"

namespace cli {

double tokens_of_words(double words, double words_per_token) {
    return words / words_per_token;
}

double words_per_second(double tokens_per_second, double words_per_token) {
    return tokens_per_second * words_per_token;
}

double words_per_minute(double tpot_seconds, double words_per_token) {
    return 60 / tpot_seconds * words_per_token;
}

}  // namespace cli
