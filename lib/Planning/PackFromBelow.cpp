//===- PackFromBelow.cpp - Lowest stretch first ---------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The surface of what has been packed is a list of stretches of time, each at
// one height. The lowest one gets the item, among those whose times lie inside
// it, that is ranked highest. If there is none, the bytes between it and its
// lower neighbour stay empty: it is lifted, and joined with that neighbour.
//
// Items are kept in a tree over (begin, end), cut in turns along both, with the
// highest rank and the corner of each part, so that most parts are left aside
// unseen. The number of lifts is at most that of stretches ever made, hence
// linear.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

using namespace espalier::planning;

namespace {

/// Finds the highest-ranked item inside a stretch, and forgets items.
class ItemTree {
public:
  ItemTree(const std::vector<PackedItem> &items,
           const std::vector<double> &rank)
      : items(items), rank(rank), order(items.size()), leafOf(items.size()) {
    std::iota(order.begin(), order.end(), 0);
    if (!items.empty())
      build(0, int32_t(items.size()), true, -1);
  }

  /// -1: there is none.
  int32_t findBest(int32_t begin, int32_t end) const {
    int32_t best = -1;
    if (!nodes.empty())
      search(0, begin, end, best);
    return best;
  }

  void remove(int32_t item) {
    for (int32_t node = leafOf[item]; node >= 0; node = nodes[node].parent) {
      if (nodes[node].left < 0)
        std::replace(order.begin() + nodes[node].first,
                     order.begin() + nodes[node].last, item, -1);
      summarise(node);
    }
  }

private:
  struct Node {
    int32_t parent = -1;
    /// -1: a leaf, with order[first .. last).
    int32_t left = -1;
    int32_t right = -1;
    int32_t first = 0;
    int32_t last = 0;
    int32_t latestBegin = -1;
    int32_t earliestEnd = 0;
    int32_t best = -1;
  };

  /// Higher rank first, then the earlier number.
  bool isBetter(int32_t a, int32_t b) const {
    if (a < 0 || b < 0)
      return b < 0 && a >= 0;
    return rank[a] != rank[b] ? rank[a] > rank[b] : a < b;
  }

  int32_t build(int32_t first, int32_t last, bool byBegin, int32_t parent) {
    auto node = int32_t(nodes.size());
    nodes.push_back({});
    nodes[node].parent = parent;
    nodes[node].first = first;
    nodes[node].last = last;
    if (last - first > 8) {
      int32_t middle = first + (last - first) / 2;
      std::nth_element(order.begin() + first, order.begin() + middle,
                       order.begin() + last, [&](int32_t a, int32_t b) {
                         int32_t left = byBegin ? items[a].begin : items[a].end;
                         int32_t right =
                             byBegin ? items[b].begin : items[b].end;
                         return left != right ? left < right : a < b;
                       });
      int32_t left = build(first, middle, !byBegin, node);
      int32_t right = build(middle, last, !byBegin, node);
      nodes[node].left = left;
      nodes[node].right = right;
    } else {
      for (int32_t at = first; at < last; ++at)
        leafOf[order[at]] = node;
    }
    summarise(node);
    return node;
  }

  void summarise(int32_t number) {
    Node &node = nodes[number];
    node.latestBegin = -1;
    node.earliestEnd = std::numeric_limits<int32_t>::max();
    node.best = -1;
    auto add = [&](int32_t begin, int32_t end, int32_t best) {
      node.latestBegin = std::max(node.latestBegin, begin);
      node.earliestEnd = std::min(node.earliestEnd, end);
      if (isBetter(best, node.best))
        node.best = best;
    };
    if (node.left >= 0) {
      for (const Node *child : {&nodes[node.left], &nodes[node.right]})
        add(child->latestBegin, child->earliestEnd, child->best);
    } else {
      for (int32_t at = node.first; at < node.last; ++at)
        if (int32_t item = order[at]; item >= 0)
          add(items[item].begin, items[item].end, item);
    }
  }

  bool isInside(int32_t item, int32_t begin, int32_t end) const {
    return items[item].begin >= begin && items[item].end <= end;
  }

  void search(int32_t number, int32_t begin, int32_t end, int32_t &best) const {
    const Node &node = nodes[number];
    if (node.latestBegin < begin || node.earliestEnd > end ||
        !isBetter(node.best, best))
      return;
    if (isInside(node.best, begin, end)) {
      best = node.best;
      return;
    }
    if (node.left < 0) {
      for (int32_t at = node.first; at < node.last; ++at)
        if (order[at] >= 0 && isInside(order[at], begin, end) &&
            isBetter(order[at], best))
          best = order[at];
      return;
    }
    bool rightFirst = isBetter(nodes[node.right].best, nodes[node.left].best);
    search(rightFirst ? node.right : node.left, begin, end, best);
    search(rightFirst ? node.left : node.right, begin, end, best);
  }

  const std::vector<PackedItem> &items;
  const std::vector<double> &rank;
  std::vector<int32_t> order;
  std::vector<int32_t> leafOf;
  std::vector<Node> nodes;
};

class Surface {
public:
  Surface(const PackingProblem &problem, const std::vector<double> &rank)
      : items(problem.items), tree(problem.items, rank) {
    packing.offsets.resize(items.size());
    stretches.push_back({0, problem.times, 0, -1, -1, true});
    lowest.push({0, 0, 0});
  }

  Packing fill() {
    size_t left = items.size();
    while (left != 0) {
      Entry entry = lowest.top();
      lowest.pop();
      int32_t at = entry.stretch;
      if (!stretches[at].there || stretches[at].height != entry.height)
        continue;
      joinEqual(at);
      int32_t item = tree.findBest(stretches[at].begin, stretches[at].end);
      if (item < 0) {
        lift(at);
        continue;
      }
      tree.remove(item);
      place(at, item);
      --left;
    }
    return std::move(packing);
  }

private:
  struct Stretch {
    int32_t begin;
    int32_t end;
    int64_t height;
    int32_t previous;
    int32_t next;
    bool there;
  };
  struct Entry {
    int64_t height;
    int32_t begin;
    int32_t stretch;
    bool operator>(const Entry &other) const {
      return height != other.height ? height > other.height
                                    : begin > other.begin;
    }
  };

  int32_t add(Stretch stretch) {
    auto number = int32_t(stretches.size());
    stretches.push_back(stretch);
    lowest.push({stretch.height, stretch.begin, number});
    return number;
  }
  void link(int32_t previous, int32_t next) {
    if (previous >= 0)
      stretches[previous].next = next;
    if (next >= 0)
      stretches[next].previous = previous;
  }

  /// Joins the stretch with its neighbours of the same height.
  void joinEqual(int32_t at) {
    Stretch &stretch = stretches[at];
    while (stretch.next >= 0 &&
           stretches[stretch.next].height == stretch.height) {
      Stretch &other = stretches[stretch.next];
      other.there = false;
      stretch.end = other.end;
      link(at, other.next);
    }
    while (stretch.previous >= 0 &&
           stretches[stretch.previous].height == stretch.height) {
      Stretch &other = stretches[stretch.previous];
      other.there = false;
      stretch.begin = other.begin;
      link(other.previous, at);
    }
  }

  void lift(int32_t at) {
    Stretch &stretch = stretches[at];
    int64_t height = std::numeric_limits<int64_t>::max();
    for (int32_t other : {stretch.previous, stretch.next})
      if (other >= 0)
        height = std::min(height, stretches[other].height);
    stretch.height = height;
    joinEqual(at);
    lowest.push({height, stretches[at].begin, at});
  }

  void place(int32_t at, int32_t item) {
    const PackedItem &placed = items[item];
    Stretch whole = stretches[at];
    int64_t offset = alignUp(whole.height, placed.alignment);
    packing.offsets[item] = offset;
    packing.peak = std::max(packing.peak, offset + placed.size);
    stretches[at].there = false;
    int32_t last = whole.previous;
    auto append = [&](int32_t begin, int32_t end, int64_t height) {
      if (begin == end)
        return;
      int32_t number = add({begin, end, height, last, -1, true});
      link(last, number);
      last = number;
    };
    append(whole.begin, placed.begin, whole.height);
    append(placed.begin, placed.end, offset + placed.size);
    append(placed.end, whole.end, whole.height);
    link(last, whole.next);
  }

  const std::vector<PackedItem> &items;
  ItemTree tree;
  Packing packing;
  std::vector<Stretch> stretches;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> lowest;
};
} // namespace

Packing espalier::planning::packFromBelow(const PackingProblem &problem,
                                          const std::vector<double> &rank) {
  return Surface(problem, rank).fill();
}
