"""A precompiled header (clang): what the compiler has read of libraries, once for all sources."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features + ["layering_check", "module_maps"],
    )
    out = ctx.actions.declare_file(ctx.label.name + ".pch")

    # Whoever uses it under layering_check has -fmodules-strict-decluse; it has to be as strict.
    flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ["-fmodules-strict-decluse", "-x", "c++-header"]
    for header in ctx.attr.headers:
        flags += ["-include", header]
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = flags,
        source_file = ctx.attr.last,
        output_file = out.path,
        use_pic = True,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = CPP_COMPILE_ACTION_NAME),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = toolchain.all_files,
        outputs = [out],
        use_default_shell_env = True,
        mnemonic = "CppPrecompile",
        progress_message = "Reading the headers of libraries",
    )
    return [DefaultInfo(files = depset([out]))]

precompiled_header = rule(
    implementation = _impl,
    attrs = {
        "headers": attr.string_list(doc = "Of the compiler and of libraries, as `#include <...>` has them."),
        "last": attr.string(doc = "One more, by its path."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
