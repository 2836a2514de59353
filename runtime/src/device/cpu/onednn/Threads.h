//===- Threads.h - Keeping oneDNN on one thread -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime has threads of its own. A team of OpenMP's beside them would be
// more threads than processors, and its members wait by spinning; so every
// primitive is made for one thread, and work is cut into parts that threads of
// the runtime's run.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_ONEDNN_THREADS_H
#define ESPALIER_DEVICE_CPU_ONEDNN_THREADS_H

#include <exception>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int);
#elif DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_SEQ
#error "oneDNN must be built with OpenMP or without threads"
#endif

namespace espalier {

/// Keeps oneDNN on the calling thread. OpenMP's number of threads is a setting
/// of the calling thread, which gets its own back afterwards.
class OnThisThreadOnly {
public:
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  OnThisThreadOnly() : threads(omp_get_max_threads()) {
    if (threads != 1)
      omp_set_num_threads(1);
  }
  ~OnThisThreadOnly() {
    if (threads != 1)
      omp_set_num_threads(threads);
  }

private:
  int threads;
#else
  OnThisThreadOnly() {}
#endif
};

/// The processor. Never destroyed: what is made for it may live as long as the
/// process.
const dnnl::engine &oneDnnEngine();

/// The last failure of the calling thread.
std::string &lastOneDnnError();

/// Runs `body` on this thread alone; says whether it went well, keeping the
/// message if it did not.
template <typename Body> bool oneDnnSucceeds(Body &&body) {
  try {
    OnThisThreadOnly guard;
    body();
    return true;
  } catch (const dnnl::error &error) {
    lastOneDnnError() = std::string(error.message) + " (dnnl status " +
                        std::to_string((int)error.status) + ")";
  } catch (const std::exception &error) {
    lastOneDnnError() = error.what();
  }
  return false;
}

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_ONEDNN_THREADS_H
