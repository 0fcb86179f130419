// oneDNN takes as many OpenMP threads as the calling thread is set to, while takt's own workers share the
// work already.
#pragma once

#if defined(TAKT_HAVE_ONEDNN)
// Of the OpenMP runtime that oneDNN brings; not every compiler comes with its header.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int n_threads);
}

namespace takt::cpu {

// One OpenMP thread within a scope. The setting is the thread's own and is put back, since the caller may be
// the application's.
class OneOpenMpThread {
public:
    OneOpenMpThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
    ~OneOpenMpThread() { omp_set_num_threads(before_); }
    OneOpenMpThread(const OneOpenMpThread&) = delete;
    OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

private:
    int before_;
};

}  // namespace takt::cpu
#endif
