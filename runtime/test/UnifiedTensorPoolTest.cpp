//===- UnifiedTensorPoolTest.cpp - Tensors that come and go ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/UnifiedTensorPool.h"

#include "device/cpu/CpuDevice.h"
#include "device/sim/SimDevice.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <list>
#include <memory>
#include <random>

using namespace espalier;

using Pool = UnifiedTensorPool;

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

TEST(TensorCache, LeastRecentlyUsedThatIsNotLocked) {
  TensorCache cache;
  EXPECT_EQ(cache.victim(), TensorCache::kNone);
  for (int id : {3, 1, 2})
    cache.insert(id);
  EXPECT_EQ(cache.victim(), 3);
  cache.touch(3);
  EXPECT_EQ(cache.victim(), 1);
  cache.lock(1);
  cache.lock(1);
  EXPECT_EQ(cache.victim(), 2);
  cache.unlock(1);
  EXPECT_TRUE(cache.isLocked(1));
  cache.touch(1); // nothing new
  cache.unlock(1);
  EXPECT_FALSE(cache.isLocked(1));
  cache.remove(2);
  EXPECT_FALSE(cache.contains(2));
  EXPECT_EQ(cache.victim(), 3); // 1 was used until it was unlocked
}

TEST(TensorCache, AgreesWithAList) {
  std::mt19937 random(1);
  TensorCache cache;
  std::list<int> order; // newest first, without locked ones
  std::vector<int> locks(20, -1);
  for (int step = 0; step < 20000; ++step) {
    int id = (int)(random() % 20);
    bool isThere = locks[id] >= 0;
    ASSERT_EQ(cache.contains(id), isThere);
    if (!isThere) {
      cache.insert(id);
      order.push_front(id);
      locks[id] = 0;
    } else {
      switch (random() % 5) {
      case 0:
        cache.remove(id);
        order.remove(id);
        locks[id] = -1;
        break;
      case 1:
        cache.touch(id);
        if (locks[id] == 0) {
          order.remove(id);
          order.push_front(id);
        }
        break;
      case 2:
        cache.lock(id);
        order.remove(id);
        ++locks[id];
        break;
      default:
        if (locks[id] == 0)
          break;
        cache.unlock(id);
        if (--locks[id] == 0)
          order.push_front(id);
      }
    }
    ASSERT_EQ(cache.victim(),
              order.empty() ? TensorCache::kNone : order.back());
  }
}

//===----------------------------------------------------------------------===//
// The host's pool
//===----------------------------------------------------------------------===//

TEST(HostPool, IsBounded) {
  EXPECT_THROW(HostPool(4096, 4095, Pages::Access::ReadWrite), Error);
  HostPool pool(4096, 4096, Pages::Access::ReadWrite);
  MemoryPool::Id a = pool.allocate(3000);
  EXPECT_EQ(pool.allocate(2000), MemoryPool::kNone);
  std::memset(pool.address(a), 1, 3000);
  EXPECT_EQ(pool.peakBytes(), 3072);
  EXPECT_TRUE(pool.release(a));
  pool.note(3500);
  pool.note(100);
  EXPECT_EQ(pool.peakBytes(), 3500);
  // Larger than this machine's memory, and nobody touches it. A thread
  // sanitizer leaves a program little more than a tebibyte of addresses.
  HostPool addresses(int64_t(1) << 38, 0, Pages::Access::None);
  EXPECT_EQ(addresses.capacity(), int64_t(1) << 38);
}

//===----------------------------------------------------------------------===//
// The tensors' pool
//===----------------------------------------------------------------------===//

static Machine machineOf(int64_t memory, double link, bool fullDuplex) {
  Machine machine;
  machine.name = "test";
  machine.memoryBytes = memory;
  machine.flopsPerSecond = machine.bytesPerSecond = 1;
  machine.linkBytesPerSecond = link;
  machine.fullDuplex = fullDuplex;
  return machine;
}

static std::string messageOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.message();
  }
  return "nothing was thrown";
}

TEST(UnifiedTensorPool, NobodyLeavesBeforeTheDeviceIsFull) {
  SimDevice device(machineOf(8192, 1024, true), {});
  HostPool host(8192, 0, Pages::Access::ReadWrite);
  Pool pool(device, 3072, host);
  Pool::Id a = pool.create(1024, "a"), b = pool.create(1024, "b"),
           c = pool.create(1024, "c"), d = pool.create(1024, "d");
  EXPECT_EQ(messageOf([&] { pool.use(a, Pool::Use::Read); }),
            "'a' is read before anything was written to it");
  for (Pool::Id id : {a, b, c}) {
    char *to = pool.use(id, Pool::Use::Write);
    device.launch({"fill", 1, 0}, [&] { std::memset(to, 'a' + id, 1024); });
  }
  EXPECT_EQ(device.counts().toHostBytes, 0);
  pool.use(a, Pool::Use::Read);
  pool.use(d, Pool::Use::Write); // b leaves
  EXPECT_FALSE(pool.isOnDevice(b));
  EXPECT_TRUE(pool.isOnHost(b));
  EXPECT_EQ(device.counts().toHostBytes, 1024);
  EXPECT_DOUBLE_EQ(device.counts().stallSeconds, 1);
  pool.lock(a);
  pool.lock(d);
  const char *there = pool.use(b, Pool::Use::Read); // c leaves
  char seen = 0;
  device.launch({"look", 1, 0}, [&] { seen = there[1023]; });
  EXPECT_EQ(seen, 'b');
  EXPECT_TRUE(pool.isOnHost(b)); // still
  pool.use(c, Pool::Use::Read);  // b leaves, without a copy
  EXPECT_EQ(device.counts().toHostBytes, 2048);
  EXPECT_EQ(pool.counts().evictions, 3);
  EXPECT_EQ(pool.counts().misses, 2);
  pool.use(c, Pool::Use::Update);
  EXPECT_FALSE(pool.isOnHost(c)); // the host's is old
  pool.lock(c);
  EXPECT_EQ(messageOf([&] { pool.use(b, Pool::Use::Read); }),
            "'b' needs 1024 bytes of the device's pool of 3072 bytes, of which "
            "0 are free beside what is in use, the largest free block has 0");
  pool.unlock(c);
  pool.destroy(c);
  pool.prefetch(b);
  EXPECT_TRUE(pool.isOnDevice(b));
  pool.unlock(a);
  pool.unlock(d);
}

TEST(UnifiedTensorPool, FromTheHostAndBack) {
  SimDevice device(machineOf(8192, 1024, true), {});
  HostPool host(8192, 0, Pages::Access::ReadWrite);
  std::vector<Pool::Id> left;
  Pool pool(device, 2048, host, [&](Pool::Id id) { left.push_back(id); });
  Pool::Id a = pool.createOnHost(1024, "a"), b = pool.create(1024, "b"),
           c = pool.create(1024, "c");
  std::memset(pool.onHostAddress(a), 'a', 1024);
  for (Pool::Id id : {b, c}) {
    char *to = pool.use(id, Pool::Use::Write);
    device.launch({"fill", 1, 0}, [&] { std::memset(to, 'a' + id, 1024); });
  }
  // There is no room, unless b, which was used first, leaves for it.
  pool.prefetch(a);
  EXPECT_FALSE(pool.isOnDevice(a));
  pool.touch(b);
  pool.prefetch(a, /*makesRoom=*/true);
  EXPECT_TRUE(pool.isOnDevice(a));
  EXPECT_EQ(left, std::vector<Pool::Id>{c});
  EXPECT_EQ(pool.counts().evictions, 1);
  char seen = 0;
  const char *there = pool.use(a, Pool::Use::Read);
  device.launch({"look", 1, 0}, [&] { seen = there[1000]; });
  EXPECT_EQ(seen, 'a');
  // What is locked stays, and of what leaves the host gets the bytes.
  pool.lock(b);
  pool.prefetch(c, /*makesRoom=*/true);
  EXPECT_TRUE(pool.isOnDevice(c));
  pool.offload(b);
  EXPECT_TRUE(pool.isOnDevice(b));
  pool.unlock(b);
  pool.offload(b);
  EXPECT_FALSE(pool.isOnDevice(b));
  pool.destroy(c);
  EXPECT_EQ(left, (std::vector<Pool::Id>{c, a, b, c}));
  EXPECT_EQ(pool.counts().evictions, 2); // nobody needed b's room
  device.synchronize();
  EXPECT_EQ(pool.onHostAddress(b)[1023], 'b');
}

TEST(UnifiedTensorPool, TheHostsPoolCanBeFull) {
  SimDevice device(machineOf(8192, 1, true), {});
  HostPool host(1024, 0, Pages::Access::ReadWrite);
  Pool pool(device, 2048, host);
  Pool::Id a = pool.create(2048, "a"), b = pool.create(1024, "b");
  pool.use(a, Pool::Use::Write);
  EXPECT_NE(messageOf([&] {
              pool.use(b, Pool::Use::Write);
            }).find("no room for the 2048 bytes of 'a'"),
            std::string::npos);
}

/// Random uses against plain vectors. On "sim" a read that did not wait, or
/// memory that was given away too early, gives other bytes.
static void useAtRandom(Device &device, uint32_t seed) {
  std::mt19937 random(seed);
  HostPool host(64 << 10, 0, Pages::Access::ReadWrite);
  Pool pool(device, 16 << 10, host);
  struct Shadow {
    Pool::Id id;
    std::vector<char> bytes;
    bool isFilled = false;
    int locks = 0;
  };
  std::vector<Shadow> live;
  for (int step = 0; step < 400; ++step) {
    if (live.size() < 12 && random() % 4 == 0) {
      int64_t bytes = 1 + random() % 3000;
      live.push_back({pool.create(bytes, "t"), std::vector<char>(bytes)});
      continue;
    }
    if (live.empty())
      continue;
    size_t index = random() % live.size();
    Shadow &tensor = live[index];
    char value = (char)random();
    size_t at = random() % tensor.bytes.size();
    double cost = (double)(random() % 3);
    switch (random() % 8) {
    case 0:
      while (tensor.locks-- > 0)
        pool.unlock(tensor.id);
      pool.destroy(tensor.id);
      live.erase(live.begin() + index);
      break;
    case 1: {
      char *to = pool.use(tensor.id, Pool::Use::Write);
      std::fill(tensor.bytes.begin(), tensor.bytes.end(), value);
      tensor.isFilled = true;
      device.launch({"write", cost, 0},
                    [&] { std::memset(to, value, tensor.bytes.size()); });
      break;
    }
    case 2:
      if (tensor.isFilled) {
        char *to = pool.use(tensor.id, Pool::Use::Update);
        tensor.bytes[at] = value;
        device.launch({"update", cost, 0}, [&] { to[at] = value; });
      }
      break;
    case 3:
      pool.prefetch(tensor.id);
      break;
    case 4:
      if (tensor.isFilled && tensor.locks == 0 && random() % 2) {
        pool.use(tensor.id, Pool::Use::Read);
        pool.lock(tensor.id);
        ++tensor.locks;
      }
      break;
    case 5:
      if (tensor.locks > 0) {
        --tensor.locks;
        pool.unlock(tensor.id);
      }
      break;
    default:
      if (tensor.isFilled) {
        const char *from = pool.use(tensor.id, Pool::Use::Read);
        bool same = false;
        device.launch({"read", cost, 0}, [&] {
          same = !std::memcmp(from, tensor.bytes.data(), tensor.bytes.size());
        });
        ASSERT_TRUE(same) << "step " << step;
      }
    }
    ASSERT_LE(pool.memory().usedBytes(), 16 << 10);
    // Locked ones could fill the pool.
    int64_t locked = 0;
    for (Shadow &other : live)
      locked += other.locks > 0 ? (int64_t)other.bytes.size() + 1023 : 0;
    for (Shadow &other : live)
      if (locked > 6000 && other.locks > 0) {
        pool.unlock(other.id);
        --other.locks;
      }
  }
}

TEST(UnifiedTensorPool, AgreesWithPlainMemory) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    double rates[] = {1e9, 2000, 300};
    SimDevice sim(machineOf(16 << 10, rates[seed % 3], seed % 2 == 0), {});
    useAtRandom(sim, seed);
    CpuDevice cpu(0);
    useAtRandom(cpu, seed);
    if (testing::Test::HasFailure())
      return;
  }
}
