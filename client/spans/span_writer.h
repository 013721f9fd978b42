// What becomes of spans: one form of output each.
#pragma once

#include <functional>
#include <memory>

#include "client/output_file.h"
#include "client/spans/span_tree.h"
#include "client/terminal.h"
#include "daemon/base/status.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

class SpanWriter {
 public:
  virtual ~SpanWriter() = default;
  // An outermost call, with all within it.
  virtual void Write(const SpanNode& tree) = 0;
  // Once, after the last one. `lost`: calls of which no span could be told.
  virtual void Finish(uint64_t lost) = 0;
  // Whether it wants no more: the session may end.
  virtual bool HasEnough() const { return false; }
};

// `file` must outlive the writer.
//
// One JSON object a line: path, type, qualified_type, pid, thread_id, depth, begin_ns, end_ns,
// delay_ns, self_ns, raised, partial, inputs[][], keywords{NAME: [][]}, outputs[][].
std::unique_ptr<SpanWriter> SpanLines(OutputFile* file);
// The JSON that chrome://tracing, Chrome's DevTools and Perfetto open ("Trace Event Format",
// Google): a complete event for each span, one for each delay, and the name of each track that is
// no thread's own: calls of a thread that are only partly within each other are on several. Times
// in microseconds of CLOCK_MONOTONIC.
std::unique_ptr<SpanWriter> ChromeTrace(OutputFile* file);
// A line for each stack of paths, with the nanoseconds that it took by itself: what flamegraph.pl
// and speedscope read. Written at the end.
std::unique_ptr<SpanWriter> FoldedStacks(OutputFile* file);
// SpanBatch messages, each behind its length as a varint.
std::unique_ptr<SpanWriter> SpanMessages(OutputFile* file);
// The tree as it is now.
using ReadModules = std::function<absl::StatusOr<v1::ListModulesReply>()>;
// The texts of vLLM's layerwise tracing (PytHooks), a line for each range that it would push, in
// that order. `read` is asked at once, and again when a span is of a module that it did not tell.
std::unique_ptr<SpanWriter> PytHooksTexts(OutputFile* file, ReadModules read);
// Per module: calls, total, self, percentiles. Written at the end.
std::unique_ptr<SpanWriter> SpanTable(OutputFile* file, Palette palette, size_t max_width);

}  // namespace sbump
