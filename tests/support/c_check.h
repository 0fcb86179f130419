/* Checks for tests written in plain C: each failed one is a line on stderr, and the program's status. */
#ifndef TAKT_TESTS_C_CHECK_H
#define TAKT_TESTS_C_CHECK_H

#include <stdio.h>
#include <string.h>
#include <takt/takt.h>

static int c_check_failures = 0;

#define CHECK(CONDITION)                                                    \
    do {                                                                    \
        if (!(CONDITION)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #CONDITION); \
            ++c_check_failures;                                             \
        }                                                                   \
    } while (0)

/* The call succeeds; its sentence is shown if it doesn't. */
#define CHECK_OK(CALL)                                                         \
    do {                                                                       \
        const takt_status c_check_status = (CALL);                             \
        if (c_check_status != TAKT_OK) {                                       \
            fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #CALL, \
                    takt_status_name(c_check_status), takt_last_error());      \
            ++c_check_failures;                                                \
        }                                                                      \
    } while (0)

/* The call fails with this status, and the sentence names WORD. */
#define CHECK_FAILS(STATUS, WORD, CALL)                                                                     \
    do {                                                                                                    \
        const takt_status c_check_status = (CALL);                                                          \
        if (c_check_status != (STATUS) || strstr(takt_last_error(), (WORD)) == NULL) {                      \
            fprintf(stderr, "%s:%d: %s: %s, wanted %s with \"%s\": %s\n", __FILE__, __LINE__, #CALL,        \
                    takt_status_name(c_check_status), takt_status_name(STATUS), (WORD), takt_last_error()); \
            ++c_check_failures;                                                                             \
        }                                                                                                   \
    } while (0)

#endif
