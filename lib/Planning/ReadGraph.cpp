//===- ReadGraph.cpp - Checkmate's and Moccasin's graphs ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/ReadGraph.h"

#include "ReadDtrLog.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_map>

using namespace espalier::planning;
using nlohmann::json;

namespace {

/// Fails by setting `error`, once; what follows then does nothing.
class CheckmateReader {
public:
  explicit CheckmateReader(std::string &error) : error(error) {}

  std::optional<Graph> read(const std::string &text) {
    try {
      file = json::parse(text);
    } catch (const json::exception &e) {
      error = std::string("not JSON: ") + e.what();
      return std::nullopt;
    }
    if (!file.is_object() || !file.contains("nodes") ||
        !file["nodes"].is_array()) {
      error = "there is no list 'nodes'";
      return std::nullopt;
    }
    readNodes();
    readLinks();
    findOrder();
    if (!error.empty())
      return std::nullopt;
    return makeGraph();
  }

private:
  struct Node {
    std::string label;
    int64_t bytes = 0;
    int64_t parameterBytes = 0;
    double cost = 0;
    bool backward = false;
    std::vector<size_t> inputs;
    std::vector<size_t> readers;
  };

  void fail(const std::string &text) {
    if (error.empty())
      error = text;
  }

  static std::string show(const json &value) {
    std::string text =
        value.dump(-1, ' ', false, json::error_handler_t::replace);
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
  }

  /// The first of the keys that the object has, or null.
  static const json *find(const json &object,
                          std::initializer_list<const char *> keys) {
    for (const char *key : keys)
      if (auto at = object.find(key); at != object.end())
        return &*at;
    return nullptr;
  }

  double readCost(const json &node, const std::string &label,
                  std::initializer_list<const char *> keys, bool required) {
    const json *value = find(node, keys);
    if (!value) {
      if (required)
        fail(label + " has no '" + *keys.begin() + "'");
      return 0;
    }
    double cost = value->is_number() ? value->get<double>() : -1;
    if (!(cost >= 0) || !std::isfinite(cost)) {
      fail(label + ": a cost is " + show(*value) +
           ", which is no number from 0");
      return 0;
    }
    return cost;
  }

  int64_t readBytes(const json &node, const std::string &label,
                    std::initializer_list<const char *> keys, bool required) {
    double bytes = readCost(node, label, keys, required);
    if (bytes >= 0x1p62 || bytes != std::floor(bytes)) {
      fail(label + ": " + show(*find(node, keys)) +
           " is no whole number of bytes below 2^62");
      return 0;
    }
    const json *value = find(node, keys);
    return value && value->is_number_integer() ? value->get<int64_t>()
                                               : int64_t(bytes);
  }

  void readNodes() {
    for (const json &node : file["nodes"]) {
      std::string label = "node " + std::to_string(nodes.size());
      if (!node.is_object())
        return fail(label + " is no object");
      const json *id = find(node, {"id", "name"});
      if (!id || !(id->is_string() || id->is_number_integer()))
        return fail(label + " has no 'id' that is a number or a string");
      const json *name = find(node, {"name", "id"});
      Node read;
      read.label = name->is_string() ? name->get<std::string>() : show(*name);
      label += " ('" + read.label + "')";
      read.bytes = readBytes(node, label, {"cost_ram", "out_cost"}, true);
      read.cost = readCost(node, label, {"cost_cpu", "duration"}, true);
      read.parameterBytes = readBytes(node, label, {"param_cost"}, false);
      if (const json *backward = find(node, {"backward"})) {
        if (!backward->is_boolean())
          return fail(label + ": 'backward' is " + show(*backward) +
                      ", neither true nor false");
        read.backward = backward->get<bool>();
      }
      if (!numbers.emplace(show(*id), nodes.size()).second)
        return fail(label + " has the id " + show(*id) +
                    ", as another node has");
      nodes.push_back(std::move(read));
    }
  }

  bool readEnd(const json &link, const std::string &label, const char *key,
               const char *otherKey, size_t &node) {
    const json *end = find(link, {key, otherKey});
    if (!end) {
      fail(label + " has no '" + key + "'");
      return false;
    }
    auto at = numbers.find(show(*end));
    if (at == numbers.end()) {
      fail(label + ": there is no node " + show(*end));
      return false;
    }
    node = at->second;
    return true;
  }

  void readLinks() {
    const json *links = find(file, {"links", "edges"});
    if (!links || !links->is_array())
      return fail("there is no list 'links'");
    size_t number = 0;
    for (const json &link : *links) {
      std::string label = "link " + std::to_string(number++);
      size_t from = 0;
      size_t to = 0;
      if (!link.is_object())
        return fail(label + " is no object");
      if (!readEnd(link, label, "source", "0", from) ||
          !readEnd(link, label, "target", "1", to))
        return;
      if (from == to)
        return fail(label + ": node '" + nodes[from].label + "' reads itself");
      if (std::find(nodes[to].inputs.begin(), nodes[to].inputs.end(), from) !=
          nodes[to].inputs.end())
        continue;
      nodes[to].inputs.push_back(from);
      nodes[from].readers.push_back(to);
    }
  }

  void findOrder() {
    if (!error.empty())
      return;
    const json *about = find(file, {"graph"});
    const json *given =
        about && about->is_object() ? find(*about, {"order"}) : nullptr;
    if (given) {
      readOrder(*given);
      return;
    }
    bool forward = true;
    for (size_t node = 0; node < nodes.size(); ++node) {
      order.push_back(node);
      for (size_t input : nodes[node].inputs)
        forward &= input < node;
    }
    if (!forward)
      sort();
  }

  void readOrder(const json &given) {
    if (!given.is_array() || given.size() != nodes.size())
      return fail("'graph.order' is no list of all " +
                  std::to_string(nodes.size()) + " nodes");
    std::vector<bool> there(nodes.size(), false);
    for (const json &id : given) {
      auto at = numbers.find(show(id));
      if (at == numbers.end())
        return fail("'graph.order': there is no node " + show(id));
      if (there[at->second])
        return fail("'graph.order' has node " + show(id) + " twice");
      for (size_t input : nodes[at->second].inputs)
        if (!there[input])
          return fail("'graph.order': node " + show(id) +
                      " comes before node '" + nodes[input].label +
                      "', which it reads");
      there[at->second] = true;
      order.push_back(at->second);
    }
  }

  /// The smallest number that can come next.
  void sort() {
    order.clear();
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    std::vector<size_t> missing;
    for (size_t node = 0; node < nodes.size(); ++node) {
      missing.push_back(nodes[node].inputs.size());
      if (missing.back() == 0)
        ready.push(node);
    }
    while (!ready.empty()) {
      size_t node = ready.top();
      ready.pop();
      order.push_back(node);
      for (size_t reader : nodes[node].readers)
        if (--missing[reader] == 0)
          ready.push(reader);
    }
    for (size_t node = 0; node < nodes.size(); ++node)
      if (missing[node] > 0)
        return fail("node '" + nodes[node].label +
                    "' is in or behind a cycle of links");
  }

  std::optional<Graph> makeGraph() {
    Graph graph;
    if (const json *about = find(file, {"graph"}); about && about->is_object())
      if (const json *name = find(*about, {"name"}); name && name->is_string())
        graph.name = name->get<std::string>();
    std::vector<TensorId> outputOf(nodes.size(), -1);
    for (size_t number : order) {
      const Node &node = nodes[number];
      Operator op;
      op.name = node.label;
      op.seconds = node.cost;
      op.pass = node.backward ? Pass::backward : Pass::forward;
      for (size_t input : node.inputs)
        op.inputs.push_back(outputOf[input]);
      if (node.parameterBytes > 0) {
        op.inputs.push_back(TensorId(graph.tensors.size()));
        graph.tensors.push_back({node.label + ".parameter", node.parameterBytes,
                                 TensorKind::parameter, -1});
      }
      outputOf[number] = TensorId(graph.tensors.size());
      op.outputs.push_back(outputOf[number]);
      graph.tensors.push_back(
          {node.label, node.bytes,
           node.readers.empty() ? TensorKind::output : TensorKind::temporary,
           -1});
      graph.operators.push_back(std::move(op));
    }
    error = checkGraph(graph);
    if (!error.empty())
      return std::nullopt;
    return graph;
  }

  std::string &error;
  json file;
  std::vector<Node> nodes;
  std::unordered_map<std::string, size_t> numbers;
  std::vector<size_t> order;
};

} // namespace

std::optional<Graph> espalier::planning::readGraph(const std::string &text,
                                                   std::string &error) {
  error.clear();
  // A log's first line is an object by itself; a graph's file is one object.
  size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  json first = json::parse(text.substr(begin, text.find('\n', begin) - begin),
                           nullptr, false);
  bool isLog = first.is_object() && first.contains("INSTRUCTION");
  std::optional<Graph> graph =
      isLog ? readDtrLog(text, error) : CheckmateReader(error).read(text);
  if (graph && graph->operators.empty()) {
    error = "there are no operators, and so nothing to plan";
    return std::nullopt;
  }
  return graph;
}
