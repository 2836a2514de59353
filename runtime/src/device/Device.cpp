//===- Device.cpp ---------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/Device.h"

#include "device/cpu/CpuDevice.h"
#include "device/sim/SimDevice.h"
#include "support/Error.h"

namespace espalier {

[[noreturn]] static void failWithoutAddresses(const Device &device) {
  fail(ESPALIER_UNSUPPORTED, "device '%s' has no addresses without memory",
       device.name());
}

char *Device::reserve(int64_t, const char *) { failWithoutAddresses(*this); }
void Device::unreserve(char *) { failWithoutAddresses(*this); }
void Device::map(char *, const char *, int64_t) { failWithoutAddresses(*this); }
void Device::unmap(char *, int64_t) { failWithoutAddresses(*this); }
int64_t Device::pageBytes() const { failWithoutAddresses(*this); }

std::unique_ptr<Device> createDevice(const DeviceOptions &options) {
  if (options.memoryLimit < 0)
    fail(ESPALIER_INVALID_ARGUMENT,
         "the device's memory limit is %lld bytes, expected 0 (none) or more",
         (long long)options.memoryLimit);
  if (options.kind == "sim") {
    if (options.machineFile.empty())
      fail(ESPALIER_INVALID_ARGUMENT,
           "device 'sim' needs the description of a machine; give a file, such "
           "as those in docs/machines");
    return std::make_unique<SimDevice>(
        readMachine(options.machineFile),
        SimDevice::Options{options.memoryLimit, options.dry, options.profile});
  }
  if (options.kind != "cpu")
    fail(ESPALIER_INVALID_ARGUMENT, "unknown device '%s', expected cpu or sim",
         options.kind.c_str());
  if (!options.machineFile.empty() || options.dry)
    fail(ESPALIER_INVALID_ARGUMENT,
         "%s only makes sense on device 'sim', the device is 'cpu'",
         options.dry ? "a dry run" : "a machine's description");
  return std::make_unique<CpuDevice>(options.memoryLimit);
}

} // namespace espalier
