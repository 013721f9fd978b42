// Forms of output that need nothing but a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/spans/span_writer.h"

namespace sbump {

// By the ending of the file's name: .json chrome, .jsonl jsonl, .folded folded, .pb protobuf.
// Empty: none of these.
std::string SpanFormatOf(std::string_view path);

// Null: none of these formats. `file` must outlive the writer.
std::unique_ptr<SpanWriter> MakeSpanWriter(std::string_view format, OutputFile* file);

}  // namespace sbump
