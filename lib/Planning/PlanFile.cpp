//===- PlanFile.cpp - Plans as JSON ---------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of deep networks have a million entries, so that neither side builds
// the whole document: entries are written straight into the text, and are taken
// out of the parser's hands one by one.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/PlanFile.h"

#include "JsonObject.h"
#include "TextFile.h"

#include <charconv>
#include <cmath>
#include <iterator>

using namespace espalier::planning;
using nlohmann::json;

static constexpr int64_t fileVersion = 1;

static constexpr const char *tensorKinds[] = {"temporary", "input", "parameter",
                                              "output"};
static constexpr const char *passes[] = {"forward", "backward", "update"};
static constexpr const char *stepKinds[] = {"compute", "offload", "prefetch"};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static void readTensor(JsonObject &object, Tensor &tensor) {
  object.read("name", tensor.name);
  object.read("bytes", tensor.bytes);
  object.readName("kind", {std::begin(tensorKinds), std::end(tensorKinds)},
                  tensor.kind,
                  /*required=*/false);
  object.read("view_of", tensor.viewOf, /*required=*/false);
}

static void readAlgorithms(JsonObject &object, Operator &op,
                           std::string &error) {
  const json *list = object.take("algorithms", /*required=*/false);
  if (!list)
    return;
  if (!list->is_array())
    return object.fail("algorithms", "is " + quoteJson(*list) + ", not a list");
  std::string place = object.placeOf("algorithms");
  for (const json &value : *list) {
    JsonObject entry(value, place, int64_t(op.algorithms.size()), error);
    Algorithm algorithm;
    entry.read("name", algorithm.name);
    entry.read("workspace_bytes", algorithm.workspaceBytes,
               /*required=*/false);
    entry.read("seconds", algorithm.seconds, /*required=*/false);
    entry.finish();
    op.algorithms.push_back(std::move(algorithm));
  }
}

static void readOperator(JsonObject &object, Operator &op, std::string &error) {
  object.read("name", op.name);
  object.read("kind", op.kind, /*required=*/false);
  object.read("inputs", op.inputs, /*required=*/false);
  object.read("outputs", op.outputs, /*required=*/false);
  object.read("flops", op.flops, /*required=*/false);
  object.read("bytes", op.bytes, /*required=*/false);
  object.read("seconds", op.seconds, /*required=*/false);
  object.readName("pass", {std::begin(passes), std::end(passes)}, op.pass,
                  /*required=*/false);
  object.read("recomputable", op.recomputable, /*required=*/false);
  object.read("checkpoint", op.checkpoint, /*required=*/false);
  object.read("in_place", op.inPlace, /*required=*/false);
  object.read("updates", op.updates, /*required=*/false);
  readAlgorithms(object, op, error);
}

static void readBuffer(JsonObject &object, Buffer &buffer) {
  object.read("tensor", buffer.tensor);
  object.read("bytes", buffer.bytes);
  object.read("first", buffer.first);
  object.read("last", buffer.last);
  object.read("offset", buffer.offset, /*required=*/false);
  object.read("shares_with", buffer.sharesWith, /*required=*/false);
}

static void readStep(JsonObject &object, Step &step) {
  object.readName("kind", {std::begin(stepKinds), std::end(stepKinds)},
                  step.kind,
                  /*required=*/false);
  object.read("op", step.op, /*required=*/false);
  object.read("inputs", step.inputs, /*required=*/false);
  object.read("outputs", step.outputs, /*required=*/false);
  object.read("algorithm", step.algorithm, /*required=*/false);
  object.read("workspace_bytes", step.workspaceBytes, /*required=*/false);
  object.read("workspace_offset", step.workspaceOffset, /*required=*/false);
}

namespace {
/// Takes the entries of the long lists out of the parser's document as soon as
/// they are complete.
class PlanReader {
public:
  PlanReader(PlanFile &file, std::string &error) : file(file), error(error) {}

  void read(std::string_view text) {
    json root;
    try {
      root = json::parse(
          text.begin(), text.end(),
          [this](int depth, json::parse_event_t event, json &value) {
            return onEvent(depth, event, value);
          });
    } catch (const json::exception &exception) {
      // What an entry has wrong comes before what the text has wrong after it.
      if (error.empty())
        error = describeJsonError(exception);
      return;
    }
    if (error.empty())
      readRoot(root);
    if (error.empty())
      checkNumbers();
  }

private:
  /// Whether the parser shall keep `value`.
  bool onEvent(int depth, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::key && depth == 1) {
      section = value.get<std::string>();
      for (const std::string &seen : sections)
        if (seen == section && error.empty())
          error = "'" + section + "' is there twice";
      sections.push_back(section);
      return true;
    }
    if (event != json::parse_event_t::object_end || depth != 2)
      return true;
    return !takeEntry(value);
  }

  /// Whether `value` is an entry of a list, and is read now.
  bool takeEntry(const json &value) {
    if (section == "tensors")
      readEntry(value, file.graph.tensors,
                [](JsonObject &object, Tensor &t) { readTensor(object, t); });
    else if (section == "operators")
      readEntry(value, file.graph.operators,
                [this](JsonObject &object, Operator &op) {
                  readOperator(object, op, error);
                });
    else if (section == "buffers")
      readEntry(value, file.plan.buffers,
                [](JsonObject &object, Buffer &b) { readBuffer(object, b); });
    else if (section == "steps")
      readEntry(value, file.plan.steps,
                [](JsonObject &object, Step &s) { readStep(object, s); });
    else
      return false;
    return true;
  }

  template <typename Entry, typename Read>
  void readEntry(const json &value, std::vector<Entry> &entries, Read read) {
    if (!error.empty())
      return;
    JsonObject object(value, section, int64_t(entries.size()), error);
    entries.emplace_back();
    read(object, entries.back());
    object.finish();
  }

  void readRoot(const json &value) {
    JsonObject root(value, "", -1, error);
    int64_t version = 0;
    root.read("espalier_plan", version);
    if (error.empty() && version != fileVersion)
      root.fail("espalier_plan", "is version " + std::to_string(version) +
                                     ", and this program reads version " +
                                     std::to_string(fileVersion));
    root.read("graph", file.graph.name, /*required=*/false);
    root.read("machine", file.machine, /*required=*/false);
    root.readBytes("budget", file.budgetBytes, /*required=*/false);
    root.read("arena_bytes", file.plan.arenaBytes);
    root.read("host_bytes", file.plan.hostBytes);
    root.read("notes", file.notes, /*required=*/false);
    // Their entries have been taken: what is left is none.
    for (const char *key : {"tensors", "operators", "buffers", "steps"}) {
      const json *list = root.take(key);
      if (list && !list->is_array())
        root.fail(key, "is " + quoteJson(*list) + ", not a list");
      else if (list && !list->empty())
        root.fail(key, "has the entry " + quoteJson(list->front()) +
                           ", not an object");
    }
    root.finish();
  }

  /// Numbers that other numbers stand for, which all were read by now.
  void checkNumbers() {
    error = checkGraph(file.graph);
    if (!error.empty())
      return;
    auto check = [&](const char *section, size_t entry, const char *key,
                     int64_t number, int64_t least, size_t end,
                     const char *what) {
      if (error.empty() && (number < least || number >= int64_t(end)))
        error = std::string("'") + section + "[" + std::to_string(entry) +
                "]." + key + "' is " + std::to_string(number) +
                ", and there are " + std::to_string(end) + " " + what;
    };
    const Plan &plan = file.plan;
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer &buffer = plan.buffers[b];
      check("buffers", b, "tensor", buffer.tensor, 0, file.graph.tensors.size(),
            "tensors");
      check("buffers", b, "shares_with", buffer.sharesWith, -1,
            plan.buffers.size(), "buffers");
      check("buffers", b, "first", buffer.first, 0, plan.steps.size(), "steps");
      check("buffers", b, "last", buffer.last, 0, plan.steps.size(), "steps");
    }
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const Step &step = plan.steps[s];
      int32_t leastOp = step.kind == Step::Kind::compute ? 0 : -1;
      check("steps", s, "op", step.op, leastOp, file.graph.operators.size(),
            "operators");
      for (BufferId buffer : step.inputs)
        check("steps", s, "inputs", buffer, 0, plan.buffers.size(), "buffers");
      for (BufferId buffer : step.outputs)
        check("steps", s, "outputs", buffer, 0, plan.buffers.size(), "buffers");
    }
  }

  PlanFile &file;
  std::string &error;
  /// The member of the root that the parser is in, and all until then.
  std::string section;
  std::vector<std::string> sections;
};
} // namespace

std::optional<PlanFile> espalier::planning::parsePlan(std::string_view text,
                                                      std::string &error) {
  error.clear();
  PlanFile file;
  PlanReader(file, error).read(text);
  if (!error.empty())
    return std::nullopt;
  return file;
}

std::optional<PlanFile>
espalier::planning::readPlanFile(const std::string &path, std::string &error) {
  std::optional<std::string> text = readTextFile(path, error);
  if (!text)
    return std::nullopt;
  std::optional<PlanFile> file = parsePlan(*text, error);
  if (!file)
    error = path + ": " + error;
  return file;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// Writes objects and lists of them, without spaces, one entry a line.
class PlanWriter {
public:
  std::string text;
  std::string error;

  void beginObject() {
    separate();
    text += '{';
    first = true;
  }
  void endObject() {
    text += '}';
    first = false;
  }
  void key(const char *name) {
    separate();
    text += '"';
    text += name;
    text += "\":";
    first = true; // Its value needs no comma.
  }
  void member(const char *name, int64_t number) {
    key(name);
    value(number);
  }
  void member(const char *name, double number) {
    key(name);
    if (!std::isfinite(number) && error.empty())
      error = std::string("'") + name + "' is not finite";
    char digits[40];
    auto result = std::to_chars(digits, digits + sizeof digits, number);
    text.append(digits, result.ptr);
    // What looks like a whole number is read as one, which a -0 is not.
    if (number == 0 && std::signbit(number))
      text += ".0";
    first = false;
  }
  void member(const char *name, const char *word) {
    key(name);
    text += '"';
    text += word;
    text += '"';
    first = false;
  }
  void flag(const char *name, bool flag) {
    key(name);
    text += flag ? "true" : "false";
    first = false;
  }
  void member(const char *name, const std::string &string) {
    key(name);
    value(string);
  }
  void member(const char *name, const std::vector<int32_t> &numbers) {
    list(name, numbers, [this](int32_t number) { value(int64_t(number)); });
  }
  void value(int64_t number) {
    separate();
    char digits[24];
    auto result = std::to_chars(digits, digits + sizeof digits, number);
    text.append(digits, result.ptr);
    first = false;
  }
  void value(const std::string &string) {
    separate();
    bool plain = true;
    for (char c : string)
      plain &= c >= ' ' && c < 127 && c != '"' && c != '\\';
    if (plain) {
      text += '"';
      text += string;
      text += '"';
    } else {
      appendEscaped(string);
    }
    first = false;
  }
  template <typename Values, typename Write>
  void list(const char *name, const Values &values, Write write) {
    key(name);
    text += '[';
    first = true;
    for (const auto &entry : values)
      write(entry);
    text += ']';
    first = false;
  }
  /// The same, each entry on a line of its own.
  template <typename Values, typename Write>
  void lines(const char *name, const Values &values, Write write) {
    key(name);
    text += '[';
    first = true;
    for (const auto &entry : values) {
      separate();
      text += '\n';
      first = true;
      write(entry);
    }
    text += "\n]";
    first = false;
  }
  void newline() {
    separate();
    text += '\n';
    first = true;
  }

private:
  void separate() {
    if (!first)
      text += ',';
  }
  void appendEscaped(const std::string &string) {
    try {
      text += json(string).dump();
    } catch (const json::exception &) {
      if (error.empty())
        error =
            "the name " +
            json(string).dump(-1, ' ', true, json::error_handler_t::replace) +
            " is not UTF-8";
    }
  }

  bool first = true;
};
} // namespace

static void writeTensor(PlanWriter &to, const Tensor &tensor) {
  to.beginObject();
  to.member("name", tensor.name);
  to.member("bytes", tensor.bytes);
  if (tensor.kind != TensorKind::temporary)
    to.member("kind", tensorKinds[size_t(tensor.kind)]);
  if (tensor.viewOf != -1)
    to.member("view_of", int64_t(tensor.viewOf));
  to.endObject();
}

static void writeOperator(PlanWriter &to, const Operator &op) {
  to.beginObject();
  to.member("name", op.name);
  if (!op.kind.empty())
    to.member("kind", op.kind);
  to.member("inputs", op.inputs);
  to.member("outputs", op.outputs);
  // -0 is not left out: it would not be read back as one.
  auto cost = [&](const char *name, double number) {
    if (number != 0 || std::signbit(number))
      to.member(name, number);
  };
  cost("flops", op.flops);
  cost("bytes", op.bytes);
  cost("seconds", op.seconds);
  if (op.pass != Pass::forward)
    to.member("pass", passes[size_t(op.pass)]);
  if (!op.recomputable)
    to.flag("recomputable", false);
  if (op.checkpoint)
    to.flag("checkpoint", true);
  if (!op.inPlace.empty())
    to.member("in_place", op.inPlace);
  if (!op.updates.empty())
    to.member("updates", op.updates);
  if (!op.algorithms.empty())
    to.list("algorithms", op.algorithms, [&](const Algorithm &algorithm) {
      to.beginObject();
      to.member("name", algorithm.name);
      if (algorithm.workspaceBytes != 0)
        to.member("workspace_bytes", algorithm.workspaceBytes);
      cost("seconds", algorithm.seconds);
      to.endObject();
    });
  to.endObject();
}

static void writeBuffer(PlanWriter &to, const Buffer &buffer) {
  to.beginObject();
  to.member("tensor", int64_t(buffer.tensor));
  to.member("bytes", buffer.bytes);
  to.member("first", int64_t(buffer.first));
  to.member("last", int64_t(buffer.last));
  if (buffer.offset != -1)
    to.member("offset", buffer.offset);
  if (buffer.sharesWith != -1)
    to.member("shares_with", int64_t(buffer.sharesWith));
  to.endObject();
}

static void writeStep(PlanWriter &to, const Step &step) {
  to.beginObject();
  to.member("kind", stepKinds[size_t(step.kind)]);
  if (step.op != -1)
    to.member("op", int64_t(step.op));
  if (!step.inputs.empty())
    to.member("inputs", step.inputs);
  if (!step.outputs.empty())
    to.member("outputs", step.outputs);
  if (step.algorithm != 0)
    to.member("algorithm", int64_t(step.algorithm));
  if (step.workspaceBytes != 0)
    to.member("workspace_bytes", step.workspaceBytes);
  if (step.workspaceOffset != -1)
    to.member("workspace_offset", step.workspaceOffset);
  to.endObject();
}

std::optional<std::string> espalier::planning::printPlan(const PlanFile &file,
                                                         std::string &error) {
  PlanWriter to;
  to.beginObject();
  to.newline();
  to.member("espalier_plan", fileVersion);
  to.newline();
  to.member("budget", file.budgetBytes);
  if (!file.machine.empty())
    to.member("machine", file.machine);
  to.newline();
  to.member("arena_bytes", file.plan.arenaBytes);
  to.member("host_bytes", file.plan.hostBytes);
  if (!file.notes.empty()) {
    to.newline();
    to.lines("notes", file.notes,
             [&](const std::string &note) { to.value(note); });
  }
  to.newline();
  to.member("graph", file.graph.name);
  to.newline();
  to.lines("tensors", file.graph.tensors,
           [&](const Tensor &tensor) { writeTensor(to, tensor); });
  to.newline();
  to.lines("operators", file.graph.operators,
           [&](const Operator &op) { writeOperator(to, op); });
  to.newline();
  to.lines("buffers", file.plan.buffers,
           [&](const Buffer &buffer) { writeBuffer(to, buffer); });
  to.newline();
  to.lines("steps", file.plan.steps,
           [&](const Step &step) { writeStep(to, step); });
  to.text += '\n';
  to.endObject();
  to.text += '\n';
  if (!to.error.empty()) {
    error = to.error;
    return std::nullopt;
  }
  return std::move(to.text);
}

bool espalier::planning::writePlanFile(const std::string &path,
                                       const PlanFile &file,
                                       std::string &error) {
  std::optional<std::string> text = printPlan(file, error);
  if (!text) {
    error = "cannot write '" + path + "': " + error;
    return false;
  }
  return writeTextFile(path, *text, error);
}
