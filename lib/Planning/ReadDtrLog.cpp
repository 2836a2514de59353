//===- ReadDtrLog.cpp - Logs of Dynamic Tensor Rematerialization ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadDtrLog.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <unordered_map>

using namespace espalier::planning;
using nlohmann::json;

namespace {

class DtrReader {
public:
  explicit DtrReader(std::string &error) : error(error) {}

  std::optional<Graph> read(const std::string &text) {
    for (size_t from = 0; from < text.size() && error.empty();) {
      size_t to = std::min(text.find('\n', from), text.size());
      ++line;
      if (text.find_first_not_of(" \t\r", from) < to)
        readLine(text.substr(from, to - from));
      from = to + 1;
    }
    if (!error.empty())
      return std::nullopt;
    for (const auto &[name, tensor] : tensorOf)
      keep(tensor);
    error = checkGraph(graph);
    if (!error.empty())
      return std::nullopt;
    return std::move(graph);
  }

private:
  void fail(const std::string &text) {
    if (error.empty())
      error = "line " + std::to_string(line) + ": " + text;
  }

  void readLine(const std::string &text) {
    try {
      instruction = json::parse(text);
    } catch (const json::exception &e) {
      return fail(std::string("not JSON: ") + e.what());
    }
    if (!instruction.is_object())
      return fail("not an object");
    std::string kind = getString("INSTRUCTION");
    if (kind == "ANNOTATE")
      backward |= instruction.value("ANNOTATION", json()) == "BACKWARD";
    else if (kind == "CONSTANT")
      bind(getString("NAME"),
           addTensor(getString("NAME"), TensorKind::parameter));
    else if (kind == "MEMORY")
      readMemory();
    else if (kind == "ALIAS")
      readAlias();
    else if (kind == "CALL")
      readCall();
    else if (kind == "MUTATE")
      readMutate();
    else if (kind == "COPY")
      bind(getString("DST"), get("SRC"));
    else if (kind == "COPY_FROM")
      readCopyFrom();
    else if (kind == "RELEASE")
      release(getString("NAME"));
    else
      fail("there is no instruction '" + kind + "'");
  }

  std::string getString(const char *key) {
    auto at = instruction.find(key);
    if (at != instruction.end() && at->is_string())
      return at->get<std::string>();
    fail(std::string("there is no string '") + key + "'");
    return "";
  }

  /// Numbers are strings there.
  int64_t getNumber(const char *key) {
    std::string text = getString(key);
    char *end = nullptr;
    errno = 0;
    long long number = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end || errno)
      fail(std::string("'") + key + "' is '" + text + "', which is no number");
    return number;
  }

  std::vector<std::string> getNames(const char *key) {
    std::vector<std::string> names;
    auto at = instruction.find(key);
    if (at == instruction.end() || !at->is_array()) {
      fail(std::string("there is no list '") + key + "'");
      return names;
    }
    for (const json &name : *at) {
      if (!name.is_string()) {
        fail(std::string("'") + key + "' has something that is no name");
        return names;
      }
      names.push_back(name.get<std::string>());
    }
    return names;
  }

  TensorId addTensor(const std::string &name, TensorKind kind) {
    graph.tensors.push_back({name, 0, kind, -1});
    namesOf.emplace_back();
    parameterOf.push_back(kind == TensorKind::parameter
                              ? TensorId(graph.tensors.size() - 1)
                              : -1);
    return TensorId(graph.tensors.size() - 1);
  }

  void bind(const std::string &name, TensorId tensor) {
    if (!error.empty())
      return;
    if (!tensorOf.emplace(name, tensor).second)
      return fail("'" + name + "' is there already");
    namesOf[graph.storageOf(tensor)].insert(name);
  }

  TensorId find(const std::string &name) {
    auto at = tensorOf.find(name);
    if (at != tensorOf.end())
      return at->second;
    fail("there is no '" + name + "', or not any more");
    return -1;
  }

  TensorId get(const char *key) { return find(getString(key)); }

  void release(const std::string &name) {
    TensorId tensor = find(name);
    if (tensor < 0)
      return;
    namesOf[graph.storageOf(tensor)].erase(name);
    tensorOf.erase(name);
  }

  void readCopyFrom() {
    std::string destination = getString("DST");
    TensorId source = get("SRC");
    if (!error.empty())
      return;
    release(destination);
    bind(destination, source);
  }

  void readMemory() {
    TensorId tensor = get("NAME");
    int64_t bytes = getNumber("MEMORY");
    if (bytes < 0)
      fail("'MEMORY' is " + std::to_string(bytes));
    if (error.empty())
      graph.tensors[tensor].bytes = bytes;
  }

  Operator &addOperator() {
    Operator op;
    op.kind = getString("NAME");
    op.name = op.kind + "." + std::to_string(graph.operators.size());
    int64_t nanoseconds = getNumber("TIME");
    if (nanoseconds < 0)
      fail("'TIME' is " + std::to_string(nanoseconds));
    op.seconds = double(nanoseconds) * 1e-9;
    op.pass = backward ? Pass::backward : Pass::forward;
    arguments.clear();
    for (const std::string &name : getNames("ARGS")) {
      arguments.push_back(find(name));
      if (std::find(op.inputs.begin(), op.inputs.end(), arguments.back()) ==
          op.inputs.end())
        op.inputs.push_back(arguments.back());
    }
    graph.operators.push_back(std::move(op));
    return graph.operators.back();
  }

  void readCall() {
    Operator &op = addOperator();
    for (const std::string &name : getNames("RESULT")) {
      if (!error.empty())
        return;
      TensorId tensor = addTensor(name, TensorKind::temporary);
      op.outputs.push_back(tensor);
      bind(name, tensor);
    }
  }

  /// Of a result of the last call: which argument it names.
  void readAlias() {
    std::string name = getString("NAME");
    TensorId tensor = find(name);
    int64_t argument = getNumber("ALIAS");
    if (!error.empty() || argument == -1)
      return;
    if (graph.operators.empty() ||
        std::find(graph.operators.back().outputs.begin(),
                  graph.operators.back().outputs.end(),
                  tensor) == graph.operators.back().outputs.end())
      return fail("'" + name + "' is no result of the last call");
    if (argument < -1 || argument >= int64_t(arguments.size()))
      return fail("the last call has no argument " + std::to_string(argument));
    namesOf[tensor].erase(name);
    graph.tensors[tensor].viewOf = arguments[size_t(argument)];
    namesOf[graph.storageOf(tensor)].insert(name);
  }

  void readMutate() {
    Operator &op = addOperator();
    auto mutated = instruction.find("MUTATE");
    if (mutated == instruction.end() || !mutated->is_array())
      return fail("there is no list 'MUTATE'");
    for (const json &number : *mutated) {
      if (!error.empty())
        return;
      if (!number.is_number_integer() || number.get<int64_t>() < 0 ||
          number.get<int64_t>() >= int64_t(arguments.size()))
        return fail("'MUTATE' has something that is no argument's number");
      TensorId argument = arguments[number.get<size_t>()];
      TensorId old = graph.storageOf(argument);
      TensorId made = addTensor(graph.tensors[old].name, TensorKind::temporary);
      graph.tensors[made].bytes = graph.tensors[old].bytes;
      parameterOf[made] = parameterOf[old];
      op.outputs.push_back(made);
      op.updates.push_back(parameterOf[old]);
      op.inPlace.push_back(
          int32_t(std::find(op.inputs.begin(), op.inputs.end(), argument) -
                  op.inputs.begin()));
      // Whoever named the old, or a part of it, names the new from now on.
      namesOf[made] = std::move(namesOf[old]);
      namesOf[old].clear();
      for (const std::string &name : namesOf[made])
        tensorOf[name] = made;
    }
  }

  /// It is an output, unless it is there anyway.
  void keep(TensorId tensor) {
    TensorId storage = graph.storageOf(tensor);
    if (parameterOf[storage] < 0)
      graph.tensors[tensor].kind = TensorKind::output;
  }

  std::string &error;
  size_t line = 0;
  json instruction;
  bool backward = false;
  Graph graph;
  std::unordered_map<std::string, TensorId> tensorOf;
  /// By tensor that is no view: who names it, or a view of it.
  std::vector<std::set<std::string>> namesOf;
  /// By tensor: the constant whose value it is.
  std::vector<TensorId> parameterOf;
  /// Of the last operator.
  std::vector<TensorId> arguments;
};

} // namespace

std::optional<Graph> espalier::planning::readDtrLog(const std::string &text,
                                                    std::string &error) {
  error.clear();
  return DtrReader(error).read(text);
}
