//===- Checkpoint.cpp - Where training stands -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Checkpoint.h"

#include "io/Safetensors.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace espalier::run {

static const char kKey[] = "espalier.checkpoint";

template <typename T> static bool allFinite(const TensorView &tensor) {
  const T *data = tensor.data<T>();
  return std::all_of(data, data + tensor.elements(),
                     [](T value) { return std::isfinite(value); });
}

static bool isFinite(const TensorView &tensor) {
  switch (tensor.dtype()) {
  case ESPALIER_F32:
    return allFinite<float>(tensor);
  case ESPALIER_F64:
    return allFinite<double>(tensor);
  default:
    return true;
  }
}

static Json statesOf(const espalier_entry &entry) {
  Json names = Json::array();
  for (uint32_t i = 0; i != entry.buffer_count; ++i)
    if (entry.buffers[i].kind == ESPALIER_BUFFER_STATE)
      names.push_back(entry.buffers[i].name);
  return names;
}

void Checkpoint::save(const std::string &path, const Weights &weights,
                      const espalier_entry &entry) const {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i != weights.count(); ++i) {
    NamedView named = weights.at(i);
    if (!isFinite(named.tensor))
      fail(ESPALIER_INVALID_ARGUMENT, "'%s' is not finite any more",
           named.name);
    espalier_tensor raw = named.tensor.c();
    Tensor tensor;
    tensor.dtype = raw.dtype;
    tensor.shape = named.tensor.shape();
    tensor.data = static_cast<const char *>(raw.data);
    tensors.push_back({named.name, tensor});
  }
  Json json = {{"epoch", epoch},
               {"batch", batch},
               {"tally", tally.save()},
               {"options", options},
               {"states", statesOf(entry)}};
  writeSafetensors(path, tensors, {{kKey, json.dump()}});
}

/// What the file's metadata says, or null if it is no checkpoint.
static Json describeFile(const std::string &path) {
  Metadata metadata = readSafetensorsMetadata(path);
  auto found = metadata.find(kKey);
  if (found == metadata.end())
    return nullptr;
  return Json::parse(found->second);
}

/// What `action` gives; says that the file is to blame if it has not what it
/// should have.
template <typename Action>
static auto readingFrom(const std::string &path, Action action) {
  try {
    return action();
  } catch (const Json::exception &e) {
    fail(ESPALIER_MALFORMED,
         "%s: the metadata '%s' is not as espalier-run "
         "writes it: %s",
         path.c_str(), kKey, e.what());
  }
}

Checkpoint Checkpoint::read(const std::string &path) {
  return readingFrom(path, [&] {
    Json json = describeFile(path);
    if (json.is_null())
      fail(ESPALIER_INVALID_ARGUMENT,
           "'%s' is no checkpoint of a training; to start from its parameters "
           "give --weights instead of --resume",
           path.c_str());
    Checkpoint checkpoint;
    checkpoint.epoch = json.at("epoch").get<int64_t>();
    checkpoint.batch = json.at("batch").get<int64_t>();
    checkpoint.tally = Tally::restore(json.at("tally"));
    checkpoint.options = json.at("options");
    if (checkpoint.epoch < 0 || checkpoint.batch < 0)
      fail(ESPALIER_MALFORMED, "%s: epoch %lld, batch %lld", path.c_str(),
           (long long)checkpoint.epoch, (long long)checkpoint.batch);
    return checkpoint;
  });
}

void Checkpoint::checkOptions(const Json &now, const std::string &path) const {
  std::string differences;
  for (auto &[name, value] : now.items()) {
    auto before = options.find(name);
    if (before != options.end() && *before == value)
      continue;
    std::string was = before == options.end() ? "unknown" : before->dump();
    differences += format("\n  %s was %s, now %s", name.c_str(), was.c_str(),
                          value.dump().c_str());
  }
  if (!differences.empty())
    fail(ESPALIER_INVALID_ARGUMENT,
         "cannot resume from '%s', which was made otherwise:%s\ngive the same, "
         "or start anew from its parameters with --weights instead of "
         "--resume",
         path.c_str(), differences.c_str());
}

Weights readParameters(const std::string &path) {
  Weights all(path);
  Json json = readingFrom(path, [&] { return describeFile(path); });
  if (json.is_null())
    return all;
  auto states = readingFrom(
      path, [&] { return json.at("states").get<std::vector<std::string>>(); });
  std::vector<NamedView> parameters;
  for (size_t i = 0; i != all.count(); ++i) {
    NamedView named = all.at(i);
    if (std::find(states.begin(), states.end(), named.name) == states.end())
      parameters.push_back(named);
  }
  return Weights(parameters);
}

} // namespace espalier::run
