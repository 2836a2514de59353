//===- espalier/runtime.hpp - The runtime for C++ programs ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin wrapper over espalier/runtime.h: objects that destroy themselves, and
// exceptions, thrown in the program and not in the library, instead of status
// codes. In short:
//
//   using namespace espalier;
//   runtime::Module module("model.so");
//   runtime::Weights weights("weights.safetensors");
//   runtime::Session session(module, weights);
//   runtime::Structures trees;
//   trees.append({{}, {}, {0, 1}});
//   trees.set("word", std::vector<int32_t>{4, 7, -1});
//   runtime::Result result = session.run(trees);
//   const float *logits = result["logits"].data<float>();
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUNTIME_HPP
#define ESPALIER_RUNTIME_HPP

#include "espalier/runtime.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::runtime {

/// A call that failed.
class Exception : public std::runtime_error {
public:
  Exception(espalier_status status, const std::string &message)
      : std::runtime_error(message), status_(status) {}
  espalier_status status() const { return status_; }

private:
  espalier_status status_;
};

/// Throws if `status` is not OK, with this thread's last message.
inline void check(espalier_status status) {
  if (status != ESPALIER_OK)
    throw Exception(status, espalier_last_error());
}

template <typename T> struct DtypeOf;
template <> struct DtypeOf<float> {
  static constexpr uint32_t value = ESPALIER_F32;
};
template <> struct DtypeOf<double> {
  static constexpr uint32_t value = ESPALIER_F64;
};
template <> struct DtypeOf<int32_t> {
  static constexpr uint32_t value = ESPALIER_I32;
};

/// A view of a dense tensor; whoever owns its data must outlive it.
class TensorView {
public:
  TensorView() = default;
  explicit TensorView(const espalier_tensor &tensor)
      : dtype_(tensor.dtype), shape_(tensor.shape, tensor.shape + tensor.rank),
        data_(tensor.data) {}
  template <typename T>
  TensorView(std::vector<int64_t> shape, const T *data)
      : dtype_(DtypeOf<T>::value), shape_(std::move(shape)), data_(data) {}

  uint32_t dtype() const { return dtype_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t extent : shape_)
      count *= extent;
    return count;
  }
  /// The elements; throws if they are of another type.
  template <typename T> const T *data() const {
    if (dtype_ != DtypeOf<T>::value)
      throw Exception(ESPALIER_INVALID_ARGUMENT,
                      "a tensor's data was asked for as another element type");
    return static_cast<const T *>(data_);
  }
  /// The same for C; lives as long as this view.
  espalier_tensor c() const {
    return {dtype_, (uint32_t)shape_.size(), shape_.data(), data_};
  }

private:
  uint32_t dtype_ = ESPALIER_F32;
  std::vector<int64_t> shape_;
  const void *data_ = nullptr;
};

/// A tensor with a name; the name must outlive it.
struct NamedView {
  const char *name;
  TensorView tensor;
};

inline std::vector<espalier_named_tensor>
toC(const std::vector<NamedView> &views) {
  std::vector<espalier_named_tensor> out;
  for (const NamedView &view : views)
    out.push_back({view.name, view.tensor.c()});
  return out;
}

/// Owns a C handle.
template <typename T, void (*Destroy)(T *)> class Handle {
public:
  T *c() const { return handle.get(); }

protected:
  void adopt(T *raw) { handle.reset(raw); }

private:
  struct Destroyer {
    void operator()(T *raw) const { Destroy(raw); }
  };
  std::unique_ptr<T, Destroyer> handle;
};

/// A compiled model. Must outlive its sessions.
class Module : public Handle<espalier_module, espalier_module_destroy> {
public:
  explicit Module(const std::string &path) {
    espalier_module *raw = nullptr;
    check(espalier_module_load(path.c_str(), &raw));
    adopt(raw);
  }
  /// One that is linked into the program.
  explicit Module(const espalier_model *model) {
    espalier_module *raw = nullptr;
    check(espalier_module_from_model(model, &raw));
    adopt(raw);
  }
  const espalier_model &model() const { return *espalier_module_model(c()); }
};

class Weights : public Handle<espalier_weights, espalier_weights_destroy> {
public:
  explicit Weights(const std::string &path) {
    espalier_weights *raw = nullptr;
    check(espalier_weights_open(path.c_str(), &raw));
    adopt(raw);
  }
  /// Copies of the caller's tensors.
  explicit Weights(const std::vector<NamedView> &tensors) {
    std::vector<espalier_named_tensor> list = toC(tensors);
    espalier_weights *raw = nullptr;
    check(espalier_weights_create(list.data(), list.size(), &raw));
    adopt(raw);
  }
  static Weights random(const Module &module, uint64_t seed,
                        const char *entry = nullptr) {
    Weights weights;
    espalier_weights *raw = nullptr;
    check(espalier_weights_random(module.c(), entry, seed, &raw));
    weights.adopt(raw);
    return weights;
  }
  void save(const std::string &path) const {
    check(espalier_weights_save(c(), path.c_str()));
  }
  size_t count() const { return espalier_weights_count(c()); }
  /// The index-th tensor by name; see espalier_weights_at for how long the view
  /// is good.
  NamedView at(size_t index) const {
    espalier_named_tensor named;
    check(espalier_weights_at(c(), index, &named));
    return {named.name, TensorView(named.tensor)};
  }

private:
  Weights() = default;
};

class Vocabulary
    : public Handle<espalier_vocabulary, espalier_vocabulary_destroy> {
public:
  Vocabulary() {
    espalier_vocabulary *raw = nullptr;
    check(espalier_vocabulary_create(&raw));
    adopt(raw);
  }
  explicit Vocabulary(const std::string &path) {
    espalier_vocabulary *raw = nullptr;
    check(espalier_vocabulary_open(path.c_str(), &raw));
    adopt(raw);
  }
  void save(const std::string &path) const {
    check(espalier_vocabulary_save(c(), path.c_str()));
  }
  int64_t size() const { return espalier_vocabulary_size(c()); }
  /// The token with an id below size().
  std::string token(int64_t id) const {
    return espalier_vocabulary_token(c(), id);
  }
};

class Structures
    : public Handle<espalier_structures, espalier_structures_destroy> {
public:
  Structures() {
    espalier_structures *raw = nullptr;
    check(espalier_structures_create(&raw));
    adopt(raw);
  }
  /// Reads a file; see espalier_structures_read.
  static Structures read(const std::string &path, const std::string &format,
                         Vocabulary &vocabulary, espalier_unseen unseen) {
    espalier_structures *raw = nullptr;
    check(espalier_structures_read(path.c_str(), format.c_str(), vocabulary.c(),
                                   unseen, &raw));
    return Structures(raw);
  }

  /// Appends a structure: for each vertex its children, -1 for an absent one.
  void append(const std::vector<std::vector<int32_t>> &childLists) {
    std::vector<int64_t> offsets{0};
    std::vector<int32_t> children;
    for (const std::vector<int32_t> &list : childLists) {
      children.insert(children.end(), list.begin(), list.end());
      offsets.push_back((int64_t)children.size());
    }
    check(espalier_structures_append(c(), (int64_t)childLists.size(),
                                     offsets.data(), children.data()));
  }
  /// Sets a field from a tensor with one row a vertex, which is copied.
  void set(const std::string &name, const TensorView &tensor) {
    espalier_tensor view = tensor.c();
    check(espalier_structures_set_field(c(), name.c_str(), &view));
  }
  /// The same with one element a vertex.
  template <typename T>
  void set(const std::string &name, const std::vector<T> &values) {
    set(name, TensorView({(int64_t)values.size()}, values.data()));
  }
  Structures slice(int64_t begin, int64_t end) const {
    espalier_structures *raw = nullptr;
    check(espalier_structures_slice(c(), begin, end, &raw));
    return Structures(raw);
  }
  /// The structures of these numbers, in this order.
  Structures select(const std::vector<int64_t> &numbers) const {
    espalier_structures *raw = nullptr;
    check(
        espalier_structures_select(c(), numbers.data(), numbers.size(), &raw));
    return Structures(raw);
  }
  int64_t count() const { return espalier_structures_count(c()); }
  int64_t vertices() const { return espalier_structures_vertices(c()); }
  int64_t unseenTokens() const {
    return espalier_structures_unseen_tokens(c());
  }

private:
  explicit Structures(espalier_structures *raw) { adopt(raw); }
};

/// The structures of a graph argument; they must outlive this.
struct NamedStructures {
  const char *name;
  const Structures &structures;
};

inline std::vector<espalier_named_structures>
toC(const std::vector<NamedStructures> &graphs) {
  std::vector<espalier_named_structures> list;
  for (const NamedStructures &graph : graphs)
    list.push_back({graph.name, graph.structures.c()});
  return list;
}

/// The results of a run; they outlive its session.
class Result : public Handle<espalier_result, espalier_result_destroy> {
public:
  explicit Result(espalier_result *raw) { adopt(raw); }
  size_t count() const { return espalier_result_count(c()); }
  /// Views live as long as this object.
  TensorView operator[](const char *name) const {
    espalier_tensor tensor;
    check(espalier_result_tensor(c(), name, &tensor));
    return TensorView(tensor);
  }
  NamedView at(size_t index) const {
    espalier_named_tensor named;
    check(espalier_result_at(c(), index, &named));
    return {named.name, TensorView(named.tensor)};
  }
};

struct SessionOptions {
  espalier_policy policy = ESPALIER_POLICY_BATCHED;
  unsigned threads = 1;
  bool profile = false;
  /// espalier_optimisation, ored together: leave these out.
  uint32_t ablate = 0;
  /// Empty: the module's first entry.
  std::string entry;
  /// Of entries with a memory plan: "cpu" or "sim", for which a machine's file.
  std::string device = "cpu";
  std::string machine;
  /// 0: what the device has.
  int64_t memoryLimit = 0;
  /// Compute nothing.
  bool dry = false;
};

/// One entry with its weights. Any number of threads may run it at a time.
class Session : public Handle<espalier_session, espalier_session_destroy> {
public:
  Session(const Module &module, const Weights &weights,
          const SessionOptions &options = {}) {
    espalier_session_options raw{};
    raw.struct_size = sizeof(raw);
    raw.policy = options.policy;
    raw.entry = options.entry.empty() ? nullptr : options.entry.c_str();
    raw.threads = options.threads;
    raw.profile = options.profile;
    raw.ablate = options.ablate;
    raw.device = options.device.c_str();
    raw.machine = options.machine.empty() ? nullptr : options.machine.c_str();
    raw.memory_limit = options.memoryLimit;
    raw.dry = options.dry;
    espalier_session *session = nullptr;
    check(espalier_session_create(module.c(), weights.c(), &raw, &session));
    adopt(session);
  }
  Result run(const Structures &structures,
             const std::vector<NamedView> &inputs = {}) const {
    std::vector<espalier_named_tensor> list = toC(inputs);
    espalier_result *result = nullptr;
    check(espalier_session_run(c(), structures.c(), list.data(), list.size(),
                               &result));
    return Result(result);
  }
  int64_t bytesNeeded(const Structures &structures) const {
    int64_t bytes = 0;
    check(espalier_session_bytes_needed(c(), structures.c(), &bytes));
    return bytes;
  }
  /// The same for an entry with any number of graph arguments.
  Result run(const std::vector<NamedStructures> &graphs,
             const std::vector<NamedView> &inputs = {}) const {
    std::vector<espalier_named_structures> raw = toC(graphs);
    std::vector<espalier_named_tensor> list = toC(inputs);
    espalier_result *result = nullptr;
    check(espalier_session_run_graphs(c(), raw.data(), raw.size(), list.data(),
                                      list.size(), &result));
    return Result(result);
  }
  int64_t bytesNeeded(const std::vector<NamedStructures> &graphs) const {
    std::vector<espalier_named_structures> raw = toC(graphs);
    int64_t bytes = 0;
    check(espalier_session_bytes_needed_graphs(c(), raw.data(), raw.size(),
                                               &bytes));
    return bytes;
  }
  espalier_stats stats() const {
    espalier_stats stats{};
    stats.struct_size = sizeof(stats);
    check(espalier_session_stats(c(), &stats));
    return stats;
  }
  void resetStats() const { espalier_session_reset_stats(c()); }
  void writeTrace(const std::string &path) const {
    check(espalier_session_write_trace(c(), path.c_str()));
  }
};

} // namespace espalier::runtime

#endif // ESPALIER_RUNTIME_HPP
