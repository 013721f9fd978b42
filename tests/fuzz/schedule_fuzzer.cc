// A schedule's file: whatever it is, it is read or refused with its line, and what is read is
// written so that it is read again as the same.
#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "client/schedule/schedule_file.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto schedule = sbump::ParseSchedule("file", {reinterpret_cast<const char*>(data), size});
  if (!schedule.ok()) {
    sbump::Require(absl::IsInvalidArgument(schedule.status()));
    return 0;
  }
  const std::string text = sbump::TextOf(*schedule);
  for (const std::string& written : {text, boost::json::serialize(sbump::JsonOf(*schedule))}) {
    const auto again = sbump::ParseSchedule("again", written);
    sbump::Require(schedule->entries.empty() || again.ok());
    if (again.ok()) sbump::Require(sbump::TextOf(*again) == text);
  }
  sbump::v1::AttachRequest request;
  (void)sbump::Apply(*schedule, {}, request);
  return 0;
}
