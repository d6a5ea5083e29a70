/* Preloaded into Debian's cron: a clock that stands still but for sleeping, so that a day passes in milliseconds.
 *
 * cron knows the time from time() alone and passes it by sleep() alone. Before the clock goes on, all jobs that were
 * started have ended; a job, instead of running, is written down with the clock's time and its command. The ten
 * seconds' rest between two minutes that cron makes up for after a gap are left out, so that one daemon can make up
 * for the jobs of a whole test within the minute.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static time_t now, until;

static void begin(void) {
    if (now == 0) {
        now = atol(getenv("CRON_CLOCK_FROM"));
        until = atol(getenv("CRON_CLOCK_UNTIL"));
    }
}

time_t time(time_t *out) {
    begin();
    if (out != NULL) *out = now;
    return now;
}

unsigned sleep(unsigned seconds) {
    begin();
    while (wait(NULL) > 0 || errno == EINTR) continue;
    if (seconds != 10) now += seconds;
    if (now >= until) _exit(0);
    return 0;
}

/* What cron runs is: shell, its name, "-c", command, NULL, environment. */
int execle(const char *path, const char *name, ...) {
    va_list arguments;
    char line[128];
    int log = open(getenv("CRON_CLOCK_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    (void)path, (void)name;
    va_start(arguments, name);
    (void)va_arg(arguments, const char *);
    int length = snprintf(line, sizeof line, "%lld %s\n", (long long)now, va_arg(arguments, const char *));
    va_end(arguments);
    _exit(log >= 0 && write(log, line, (size_t)length) == length ? 0 : 1);
}
