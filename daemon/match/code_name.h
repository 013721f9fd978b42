// What a code object is called: all that this room knows of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sbump {

// Views: the caller's strings must outlive it. All text is generalised UTF-8 (utf8.h).
struct CodeName {
  std::string_view filename;  // co_filename
  std::span<const std::string>
      module_names;           // __name__ of each module that the file was imported as
  std::string_view qualname;  // co_qualname, or what stands for it before 3.11
};

}  // namespace sbump
