//===- SimulationHtml.cpp - A simulation as a page ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file that needs nothing else: the totals, the memory's curve by step (as
// in the SuperNeurons paper's figure 10), the arena's map (address by step),
// and the timeline of operators and copies. Plots are SVG without text, so that
// they can be stretched: scripts zoom and say what is under the pointer.
//
// Long plans are thinned out, so that browsers can show them: the curve to so
// many columns, each with the most of its steps; the map to what is there at
// some of the steps. Small neighbours are drawn as one.
//
//===----------------------------------------------------------------------===//
#include "SimulationReport.h"

#include "espalier/Planning/ByteSize.h"
#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace espalier::plan {

using planning::Buffer;
using planning::formatByteSize;
using planning::Step;

namespace {

constexpr size_t maxColumns = 1500;
constexpr size_t maxRectangles = 6000;
/// Of a lane's length: what is shorter is drawn with its neighbours.
constexpr double minShare = 1.0 / 4000;

const char *const head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>
:root{--ink:#1d2733;--soft:#66727f;--line:#d9dee4;--paper:#fff;--panel:#f6f8fa;
--p:#8794a3;--i:#6fae8c;--o:#3f7f5f;--f:#5b8dd9;--b:#e39a4f;--r:#8e6bbf;--h:#2fa5a0;--w:#d8c64a;--u:#b25c7a;--s:#e5534b}
*{box-sizing:border-box}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;padding:24px;max-width:1280px}
h1{font-size:22px;margin:0 0 2px}h2{font-size:16px;margin:28px 0 4px}
p{margin:2px 0 8px;color:var(--soft)}
.cards{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}
.card{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:8px 14px;min-width:118px}
.card b{display:block;font-size:17px;font-weight:600;font-variant-numeric:tabular-nums}.card span{color:var(--soft);font-size:12px}
.plot{display:grid;grid-template-columns:84px 1fr}
.y{display:flex;flex-direction:column;justify-content:space-between;text-align:right;padding-right:8px;color:var(--soft);font-size:12px;font-variant-numeric:tabular-nums}
.y span{line-height:0}
.lanes span{line-height:1.2;flex:1;display:flex;align-items:center;justify-content:flex-end}
.x{grid-column:2;display:flex;justify-content:space-between;color:var(--soft);font-size:12px;padding-top:3px;font-variant-numeric:tabular-nums}
.plot svg{width:100%;display:block;background:linear-gradient(var(--line) 1px,transparent 1px) 0 -1px/100% 25%,var(--panel);border:1px solid var(--line);cursor:crosshair;touch-action:none}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12px;margin:4px 0 6px 84px;color:var(--soft)}
.legend i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:5px;vertical-align:-1px}
#tip{position:fixed;pointer-events:none;background:var(--ink);color:#fff;padding:5px 9px;border-radius:5px;font-size:12px;white-space:pre;display:none;z-index:9;max-width:90vw}
rect{vector-effect:non-scaling-stroke}
path,line{vector-effect:non-scaling-stroke;fill:none}
#map rect{stroke:#fff;stroke-width:.4}#map.fine rect{stroke:none}#map rect:hover,#time rect:hover{stroke:var(--ink);stroke-width:1.5}
.p{fill:var(--p)}.i{fill:var(--i)}.o{fill:var(--o)}.f{fill:var(--f)}.b{fill:var(--b)}.r{fill:var(--r)}.h{fill:var(--h)}.w{fill:var(--w)}.u{fill:var(--u)}.s{fill:var(--s)}
label{margin-left:16px;color:var(--ink)}
ul{color:var(--soft);margin:4px 0;padding-left:20px}
</style>
)";

const char *const script = R"(
const tip=document.getElementById('tip');
function show(e,text){if(!text){tip.style.display='none';return}
tip.textContent=text;tip.style.display='block';const w=tip.offsetWidth,h=tip.offsetHeight;
tip.style.left=Math.max(0,Math.min(e.clientX+14,innerWidth-w-4))+'px';
tip.style.top=(e.clientY+h+24>innerHeight?e.clientY-h-10:e.clientY+16)+'px'}
function bytes(n){let u=['B','KiB','MiB','GiB','TiB'],i=0;while(n>=1023.995&&i<4){n/=1024;i++}return n.toFixed(i?2:0)+' '+u[i]}
const axes={step:{ids:['curve','map'],from:0,size:D.steps,all:D.steps,label:v=>'step '+Math.round(v)},
time:{ids:['time'],from:0,size:10000,all:10000,label:v=>(v/10000*D.seconds).toPrecision(4)+' s'}};
function draw(a){for(const id of a.ids){const s=document.getElementById(id),b=s.viewBox.baseVal;
b.x=a.from;b.width=a.size;
const x=s.parentNode.querySelectorAll('.x span');x.forEach((e,i)=>e.textContent=a.label(a.from+a.size*i/(x.length-1)))}}
for(const a of Object.values(axes)){for(const id of a.ids){const s=document.getElementById(id);let drag=null;
const at=e=>(e.clientX-s.getBoundingClientRect().left)/s.clientWidth;
s.addEventListener('wheel',e=>{e.preventDefault();const k=e.deltaY>0?1.25:.8,c=a.from+a.size*at(e);
a.size=Math.max(a.all/1000,Math.min(a.all,a.size*k));
a.from=Math.max(0,Math.min(a.all-a.size,c-a.size*at(e)));draw(a)},{passive:false});
s.addEventListener('pointerdown',e=>{drag={x:at(e),from:a.from};s.setPointerCapture(e.pointerId)});
s.addEventListener('pointerup',()=>drag=null);
s.addEventListener('dblclick',()=>{a.from=0;a.size=a.all;draw(a)});
s.addEventListener('pointerleave',e=>show(e,''));
s.addEventListener('pointermove',e=>{if(drag){a.from=Math.max(0,Math.min(a.all-a.size,drag.from-(at(e)-drag.x)*a.size));draw(a)}
if(id!='curve'){const r=document.elementFromPoint(e.clientX,e.clientY);show(e,r&&r.dataset.t);return}
const c=Math.min(D.live.length-1,Math.max(0,Math.floor((a.from+a.size*at(e))/D.steps*D.live.length)));
if(D.live.length)show(e,'step '+D.at[c]+'  '+D.name[c]+'\nplan '+bytes(D.live[c])+', highest address '+bytes(D.high[c])+'\nliveness alone '+bytes(D.liveness[c])+'\non the host '+bytes(D.host[c]))})}draw(a)}
const curve=document.getElementById('curve'),box=document.getElementById('scale');
function scale(){const k=box.checked?D.scale:1,b=curve.viewBox.baseVal;b.y=1000*(1-k);b.height=1000*k;
curve.parentNode.querySelectorAll('.y span').forEach((e,i)=>e.textContent=bytes(D.top*k*(4-i)/4))}
box.addEventListener('change',scale);scale()
)";

class Page {
public:
  explicit Page(const SimulationReport &report)
      : report(report), plan(report.file.plan), graph(report.file.graph),
        result(report.result), steps(plan.steps.size()) {}

  std::string make() {
    text = head;
    std::string name = graph.name.empty() ? "plan" : graph.name;
    text += "<title>" + escape(name) + " on " + escape(report.machine.name) +
            "</title></head><body>\n<h1>" + escape(name) + "</h1>\n";
    addSummary();
    addCurve();
    addMap();
    addTimeline();
    addNotes();
    text += "<div id=\"tip\"></div>\n<script>\nconst D=" + data() + ";" +
            script + "</script>\n</body></html>\n";
    return std::move(text);
  }

private:
  //===--------------------------------------------------------------------===//
  // Words and numbers
  //===--------------------------------------------------------------------===//

  static std::string escape(const std::string &raw) {
    std::string escaped;
    for (char c : raw)
      switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
      }
    return escaped;
  }

  static std::string number(double value) { return format("%.7g", value); }

  static std::string secondsText(double seconds) {
    if (seconds >= 1 || seconds == 0)
      return format("%.4g s", seconds);
    if (seconds >= 1e-3)
      return format("%.4g ms", seconds * 1e3);
    return format("%.4g µs", seconds * 1e6);
  }

  static std::string percent(double share) {
    return format("%+.1f %%", 100 * share);
  }

  void card(const std::string &value, const std::string &label) {
    text += "<div class=\"card\"><b>" + value + "</b><span>" + label +
            "</span></div>\n";
  }

  void
  legend(std::initializer_list<std::pair<const char *, const char *>> entries) {
    text += "<div class=\"legend\">";
    for (auto [color, label] : entries)
      text += std::string("<span><i style=\"background:var(--") + color +
              ")\"></i>" + label + "</span>";
    text += "</div>\n";
  }

  /// A plot of `height` pixels and y coordinates from 0 to 1000, whose labels
  /// on the left go from `top` bytes to 0.
  void beginBytesPlot(const char *id, int height, int64_t top,
                      const char *style = "") {
    text += "<div class=\"plot\"><div class=\"y\">";
    for (int quarter = 4; quarter >= 0; --quarter)
      text += "<span>" + formatByteSize(int64_t(double(top) * quarter / 4)) +
              "</span>";
    text += "</div>\n";
    beginSvg(id, height, double(std::max<size_t>(steps, 1)), style);
  }

  void beginSvg(const char *id, int height, double width,
                const char *style = "") {
    text += std::string("<svg id=\"") + id + "\" class=\"" + style +
            "\" viewBox=\"0 0 " + number(width) + " 1000\" height=\"" +
            std::to_string(height) + "\" preserveAspectRatio=\"none\">\n";
  }

  void endPlot() {
    text += "</svg><div class=\"x\"><span></span><span></span><span></span>"
            "<span></span><span></span></div></div>\n";
  }

  void addRectangle(const char *color, double x, double y, double width,
                    double height, const std::string &tip) {
    text += std::string("<rect class=\"") + color + "\" x=\"" + number(x) +
            "\" y=\"" + number(y) + "\" width=\"" + number(width) +
            "\" height=\"" + number(height) + "\" data-t=\"" + escape(tip) +
            "\"/>\n";
  }

  //===--------------------------------------------------------------------===//
  // Totals
  //===--------------------------------------------------------------------===//

  void addSummary() {
    text += "<p>" + std::to_string(graph.operators.size()) + " operators, " +
            std::to_string(graph.tensors.size()) + " tensors; " +
            std::to_string(steps) + " steps on " +
            escape(report.machine.device.name) + " (" +
            formatByteSize(report.machine.device.memoryBytes) + ")" +
            (report.fits() ? "" : ", where the plan does not fit") +
            ". Simulated.</p>\n<div class=\"cards\">\n";
    card(formatByteSize(result.baselineBytes), "baseline");
    card(formatByteSize(result.livenessBytes), "liveness alone");
    card(formatByteSize(result.peakBytes), "plan");
    if (report.file.budgetBytes > 0)
      card(formatByteSize(report.file.budgetBytes), "budget");
    card(formatByteSize(result.hostBytes), "on the host");
    card(secondsText(result.seconds), "an iteration");
    card(percent(report.overhead()), "against endless memory");
    card(secondsText(result.fetchStallSeconds + result.memoryStallSeconds +
                     result.drainSeconds),
         "waiting for copies");
    card(std::to_string(result.recomputedOperators), "operators again");
    card(formatByteSize(result.transferBytes()), "copied");
    text += "</div>\n";
  }

  void addNotes() {
    if (report.file.notes.empty())
      return;
    text += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string &note : report.file.notes)
      text += "<li>" + escape(note) + "</li>\n";
    text += "</ul>\n";
  }

  //===--------------------------------------------------------------------===//
  // The curve
  //===--------------------------------------------------------------------===//

  size_t columns() const { return std::min(steps, maxColumns); }

  /// The steps of a column: [columnStart(c), columnStart(c + 1)).
  size_t columnStart(size_t column) const {
    return column * steps / std::max<size_t>(columns(), 1);
  }

  std::vector<int64_t> thin(const std::vector<int64_t> &values) const {
    std::vector<int64_t> most(columns());
    for (size_t c = 0; c < most.size(); ++c)
      most[c] = *std::max_element(values.begin() + long(columnStart(c)),
                                  values.begin() + long(columnStart(c + 1)));
    return most;
  }

  void addCurve() {
    text += "<h2>Memory by step</h2>\n<p>Scroll to zoom, drag to move, double "
            "click to see all again.";
    if (steps > maxColumns)
      text += " Each column is the most of " +
              std::to_string(steps / maxColumns) + " steps or more.";
    curveTop = std::max(result.baselineBytes, result.peakBytes);
    int64_t budget = report.file.budgetBytes;
    // A budget far above everything would leave nothing to see.
    bool showBudget = budget > 0 && budget <= 2 * curveTop;
    if (showBudget)
      curveTop = std::max(curveTop, budget);
    curveTop += curveTop / 20;
    if (curveTop > 0)
      planShare =
          std::min(1.0, 1.1 * double(result.peakBytes) / double(curveTop));
    text += std::string("<label><input type=\"checkbox\" id=\"scale\"") +
            (planShare < 0.15 ? " checked" : "") +
            "> scaled to the plan</label></p>\n";
    legend({{"soft", "baseline"},
            {"b", "liveness alone"},
            {"f", "plan, live bytes"},
            {"ink", "plan, highest address"},
            {"s", "budget"}});
    int64_t top = curveTop;
    beginBytesPlot("curve", 320, top);
    addLine(thin(result.liveBytes), top, "var(--f)",
            " style=\"fill:var(--f);fill-opacity:.25\"", true);
    addLine(thin(result.livenessCurve), top, "var(--b)", "", false);
    addLine(thin(result.highestBytes), top, "var(--ink)",
            " stroke-width=\".8\"", false);
    addLevel(result.baselineBytes, top, "var(--soft)");
    if (showBudget)
      addLevel(budget, top, "var(--s)");
    endPlot();
  }

  static double heightOf(int64_t bytes, int64_t top) {
    return top > 0 ? 1000 - 1000 * double(bytes) / double(top) : 1000;
  }

  void addLine(const std::vector<int64_t> &values, int64_t top,
               const char *color, const char *style, bool closed) {
    if (values.empty())
      return;
    text +=
        "<path d=\"M0 " + number(closed ? 1000 : heightOf(values.front(), top));
    for (size_t c = 0; c < values.size(); ++c)
      text += "V" + number(heightOf(values[c], top)) + "H" +
              std::to_string(columnStart(c + 1));
    if (closed)
      text += "V1000Z";
    text += std::string("\" stroke=\"") + color + "\"" + style + "/>\n";
  }

  void addLevel(int64_t bytes, int64_t top, const char *color) {
    std::string y = number(heightOf(bytes, top));
    text += "<line x1=\"0\" x2=\"" + std::to_string(steps) + "\" y1=\"" + y +
            "\" y2=\"" + y + "\" stroke=\"" + color +
            "\" stroke-dasharray=\"6 4\"/>\n";
  }

  //===--------------------------------------------------------------------===//
  // The map
  //===--------------------------------------------------------------------===//

  struct Rectangle {
    const char *color;
    int32_t first, last;
    int64_t offset, bytes;
    /// A buffer, or, below 0, the workspace of step `first`.
    planning::BufferId buffer;
    /// How many there are: neighbours may be drawn as one.
    size_t count = 1;
    int64_t end() const { return offset + bytes; }
    double area() const { return double(bytes) * double(last - first + 1); }
  };

  const char *colorOf(const Buffer &buffer, int32_t maker) const {
    const planning::Tensor &tensor = graph.tensors[buffer.tensor];
    if (tensor.kind == planning::TensorKind::parameter)
      return "p";
    if (maker < 0)
      return "i";
    const Step &step = plan.steps[maker];
    if (step.kind == Step::Kind::prefetch)
      return "h";
    if (result.steps[maker].again)
      return "r";
    if (tensor.kind == planning::TensorKind::output)
      return "o";
    return passColor(graph.operators[step.op]);
  }

  static const char *passColor(const planning::Operator &op) {
    switch (op.pass) {
    case planning::Pass::forward:
      return "f";
    case planning::Pass::backward:
      return "b";
    case planning::Pass::update:
      return "u";
    }
    return "f";
  }

  void addMap() {
    std::vector<int32_t> makers(plan.buffers.size(), -1);
    std::vector<Rectangle> rectangles;
    for (size_t s = 0; s < steps; ++s) {
      const Step &step = plan.steps[s];
      for (planning::BufferId output : step.outputs)
        makers[output] = int32_t(s);
      if (step.workspaceBytes > 0)
        rectangles.push_back({"w", int32_t(s), int32_t(s), step.workspaceOffset,
                              step.workspaceBytes, -1});
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer &buffer = plan.buffers[b];
      if (buffer.bytes > 0)
        rectangles.push_back({colorOf(buffer, makers[b]), buffer.first,
                              buffer.last, buffer.offset, buffer.bytes,
                              planning::BufferId(b)});
    }
    text += "<h2>The arena</h2>\n<p>Addresses by step.";
    if (rectangles.size() > maxRectangles)
      thinMap(rectangles);
    text += "</p>\n";
    legend({{"p", "parameter"},
            {"i", "input"},
            {"f", "forward"},
            {"b", "backward"},
            {"u", "update"},
            {"r", "computed again"},
            {"h", "fetched"},
            {"o", "output"},
            {"w", "workspace"}});
    int64_t top = plan.arenaBytes;
    beginBytesPlot("map", 420, top, rectangles.size() > 800 ? "fine" : "");
    // Those that began first below: what takes memory over is seen.
    std::stable_sort(rectangles.begin(), rectangles.end(),
                     [](const Rectangle &a, const Rectangle &b) {
                       return a.first < b.first;
                     });
    for (const Rectangle &rectangle : rectangles) {
      double y = heightOf(rectangle.offset + rectangle.bytes, top);
      addRectangle(rectangle.color, rectangle.first, y,
                   rectangle.last - rectangle.first + 1,
                   heightOf(rectangle.offset, top) - y, tipOf(rectangle));
    }
    endPlot();
  }

  void thinMap(std::vector<Rectangle> &rectangles) {
    joinNeighbours(rectangles);
    // What is there at the middle of some column, from the first such column to
    // the last.
    size_t columns = maxColumns;
    std::vector<Rectangle> seen = seenAt(columns, rectangles);
    while (seen.size() > maxRectangles && columns > 100) {
      columns /= 2;
      seen = seenAt(columns, rectangles);
    }
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Rectangle &a, const Rectangle &b) {
                       return a.area() > b.area();
                     });
    if (seen.size() > maxRectangles)
      seen.resize(maxRectangles);
    text += " What is there at " + std::to_string(columns) +
            " steps; small neighbours as one.";
    rectangles = std::move(seen);
  }

  std::vector<Rectangle>
  seenAt(size_t columns, const std::vector<Rectangle> &rectangles) const {
    std::vector<Rectangle> seen;
    double width = double(steps) / double(columns);
    for (Rectangle rectangle : rectangles) {
      double first = std::ceil(rectangle.first / width - 0.5);
      double last = std::floor((rectangle.last + 1) / width - 0.5);
      if (last < first)
        continue;
      rectangle.first = int32_t(first * width);
      rectangle.last =
          std::max(int32_t((last + 1) * width) - 1, rectangle.first);
      seen.push_back(rectangle);
    }
    return seen;
  }

  /// Makes thin ones that lie on each other, at the same steps, one.
  void joinNeighbours(std::vector<Rectangle> &rectangles) const {
    std::stable_sort(rectangles.begin(), rectangles.end(),
                     [](const Rectangle &a, const Rectangle &b) {
                       return std::tie(a.first, a.last, a.color[0], a.offset) <
                              std::tie(b.first, b.last, b.color[0], b.offset);
                     });
    std::vector<Rectangle> joined;
    for (const Rectangle &next : rectangles) {
      if (!joined.empty()) {
        Rectangle &last = joined.back();
        int64_t end = std::max(last.end(), next.end());
        if (last.first == next.first && last.last == next.last &&
            last.color[0] == next.color[0] &&
            next.offset - last.end() <= plan.arenaBytes / 2000 &&
            end - last.offset <= plan.arenaBytes / 100) {
          last.bytes = end - last.offset;
          last.count += next.count;
          continue;
        }
      }
      joined.push_back(next);
    }
    rectangles = std::move(joined);
  }

  std::string tipOf(const Rectangle &rectangle) const {
    std::string tip =
        rectangle.buffer < 0
            ? "workspace of " + report.stepName(size_t(rectangle.first))
            : report.tensorName(rectangle.buffer);
    if (rectangle.count > 1)
      tip += " and " + std::to_string(rectangle.count - 1) + " more";
    tip += "\n" + formatByteSize(rectangle.bytes) + " at " +
           std::to_string(rectangle.offset) + "\nsteps " +
           std::to_string(rectangle.first) + " to " +
           std::to_string(rectangle.last);
    return tip;
  }

  //===--------------------------------------------------------------------===//
  // The timeline
  //===--------------------------------------------------------------------===//

  /// A bar of a lane: one step, or several short ones beside each other.
  struct Bar {
    const char *color;
    double start, end;
    size_t first, last;
    size_t count;
  };

  void addTimeline() {
    text += "<h2>Timeline</h2>\n<p>" + secondsText(result.seconds) +
            "; red: the device waits for a copy.</p>\n";
    legend({{"f", "forward"},
            {"b", "backward"},
            {"u", "update"},
            {"r", "computed again"},
            {"h", "copy"},
            {"s", "waiting"}});
    text += "<div class=\"plot\"><div class=\"y lanes\"><span>operators</span>"
            "<span>to the host</span><span>to the device</span></div>\n";
    beginSvg("time", 150, 10000);
    for (int lane = 0; lane < 3; ++lane)
      addLane(Step::Kind(lane), 20 + lane * 333);
    endPlot();
  }

  void addLane(Step::Kind lane, double y) {
    if (result.seconds <= 0)
      return;
    double scale = 10000 / result.seconds;
    double shortest = result.seconds * minShare;
    std::vector<Bar> bars;
    auto add = [&](const char *color, double start, double end, size_t step) {
      if (end <= start)
        return;
      // A short one joins a short one just before it.
      if (end - start < shortest && !bars.empty()) {
        Bar &before = bars.back();
        if (start - before.end < shortest &&
            (before.count > 1 || before.end - before.start < shortest) &&
            end - before.start < 4 * shortest) {
          before.end = end;
          before.last = step;
          ++before.count;
          return;
        }
      }
      bars.push_back({color, start, end, step, step, 1});
    };
    for (size_t s = 0; s < steps; ++s) {
      const Step &step = plan.steps[s];
      if (step.kind != lane)
        continue;
      const planning::StepTimes &times = result.steps[s];
      if (lane != Step::Kind::compute) {
        add("h", times.start, times.end, s);
        continue;
      }
      add("s", times.start - times.fetchStall - times.memoryStall, times.start,
          s);
      add(times.again ? "r" : passColor(graph.operators[step.op]), times.start,
          times.end, s);
    }
    for (const Bar &bar : bars) {
      std::string tip;
      if (bar.count > 1)
        tip = std::to_string(bar.count) + " from " +
              report.stepName(bar.first) + " to " + report.stepName(bar.last);
      else
        tip = (bar.color[0] == 's' ? "waiting before " : "") +
              report.stepName(bar.first);
      tip += "\n" + secondsText(bar.end - bar.start) + " from " +
             secondsText(bar.start);
      addRectangle(bar.color, bar.start * scale, y,
                   (bar.end - bar.start) * scale, 290, tip);
    }
  }

  //===--------------------------------------------------------------------===//
  // What scripts know
  //===--------------------------------------------------------------------===//

  std::string data() const {
    nlohmann::ordered_json json;
    json["steps"] = std::max<size_t>(steps, 1);
    json["seconds"] = result.seconds;
    json["top"] = curveTop;
    json["scale"] = planShare;
    json["live"] = thin(result.liveBytes);
    json["high"] = thin(result.highestBytes);
    json["liveness"] = thin(result.livenessCurve);
    json["host"] = thin(result.hostCurve);
    std::vector<size_t> at;
    std::vector<std::string> names;
    for (size_t c = 0; c < columns(); ++c) {
      auto begin = result.liveBytes.begin();
      at.push_back(size_t(std::max_element(begin + long(columnStart(c)),
                                           begin + long(columnStart(c + 1))) -
                          begin));
      names.push_back(report.stepName(at.back()));
    }
    json["at"] = at;
    json["name"] = names;
    // No name may end the script.
    std::string dumped = json.dump();
    for (size_t open = dumped.find('<'); open != std::string::npos;
         open = dumped.find('<', open))
      dumped.replace(open, 1, "\\u003c");
    return dumped;
  }

  const SimulationReport &report;
  const planning::Plan &plan;
  const planning::Graph &graph;
  const planning::Simulation &result;
  size_t steps;
  /// The bytes at the curve's upper edge, and the share of them that the plan
  /// reaches.
  int64_t curveTop = 0;
  double planShare = 1;
  std::string text;
};

} // namespace

std::string SimulationReport::html() const { return Page(*this).make(); }

} // namespace espalier::plan
