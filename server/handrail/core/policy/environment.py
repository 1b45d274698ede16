"""
Which variables of an environment a program that we start may have: those of the table, by name.

A list of secrets is never complete, since a key may have any name. So variables that are not known to be
harmless are left out. A variable of the table that contains a login, such as a proxy with a password, is left
out too. The user can add names for commands that are not known to be read-only: a pattern never matches a
variable that may be a key, but a name in full stands for any variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from handrail.core.policy import wildcard
from handrail.patterns import lazy_pattern

LOGIN = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<user>[^/\s:@]*):(?P<password>[^/\s]+)@")  # in a URL

# Names are compared in capital letters; `*` is any text.
INHERITED: Mapping[str, str] = {
    "who and where": """
        HOME USER LOGNAME SHELL HOSTNAME TMPDIR TMP TEMP XDG_CACHE_HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS
        XDG_DATA_HOME XDG_DATA_DIRS XDG_STATE_HOME
    """,
    "language and time": "LANG LANGUAGE LC_* TZ TZDIR",
    "terminal": "TERM COLORTERM COLUMNS LINES TERMINFO TERMINFO_DIRS",
    "what is found where": """
        PATH MANPATH INFOPATH LD_LIBRARY_PATH LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH
        PKG_CONFIG PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
    """,
    "network": """
        HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE
        CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS NIX_SSL_CERT_FILE
    """,
    "builds": """
        CI SOURCE_DATE_EPOCH DEBIAN_FRONTEND MAKEFLAGS MAKE CC CXX CPP LD AR AS NM RANLIB STRIP OBJCOPY
        CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH ARCH CROSS_COMPILE
        CMAKE_* CCACHE_* SCCACHE_DIR SDKROOT DEVELOPER_DIR MACOSX_DEPLOYMENT_TARGET
    """,
    "version managers": """
        ASDF_* MISE_DATA_DIR MISE_CONFIG_DIR NIX_PATH NIX_PROFILES NIX_STORE IN_NIX_SHELL HOMEBREW_PREFIX
        HOMEBREW_CELLAR HOMEBREW_REPOSITORY
    """,
    "Python": """
        PYTHON* VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_PYTHON_EXE CONDA_SHLVL
        MAMBA_ROOT_PREFIX PYENV_ROOT PYENV_VERSION PIP_CACHE_DIR PIP_INDEX_URL PIP_NO_INDEX PIP_FIND_LINKS
        PIP_DISABLE_PIP_VERSION_CHECK PIP_REQUIRE_VIRTUALENV UV_CACHE_DIR UV_PYTHON UV_PYTHON_INSTALL_DIR
        UV_INDEX_URL UV_PROJECT_ENVIRONMENT POETRY_HOME POETRY_CACHE_DIR POETRY_VIRTUALENVS_* WORKON_HOME
    """,
    "JavaScript": """
        NODE_PATH NODE_ENV NODE_OPTIONS NODE_VERSION NPM_CONFIG_CACHE NPM_CONFIG_PREFIX NVM_DIR NVM_BIN
        NVM_INC FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME PNPM_HOME YARN_CACHE_FOLDER COREPACK_HOME
        BUN_INSTALL DENO_DIR DENO_INSTALL PLAYWRIGHT_BROWSERS_PATH
    """,
    "Rust": """
        CARGO_HOME CARGO_TARGET_DIR CARGO_BUILD_* CARGO_INCREMENTAL CARGO_TERM_COLOR CARGO_NET_OFFLINE
        CARGO_PROFILE_* RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUSTDOCFLAGS RUSTC RUSTC_WRAPPER
        RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS
    """,
    "Go": """
        GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOTMPDIR GOENV GOFLAGS GOOS GOARCH GOARM GOAMD64 GOPROXY
        GONOPROXY GOSUMDB GONOSUMDB GONOSUMCHECK GOPRIVATE GOTOOLCHAIN GOWORK GO111MODULE GOMAXPROCS CGO_*
    """,
    "Java": """
        JAVA_HOME JDK_HOME JRE_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR
        ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME KOTLIN_HOME SCALA_HOME COURSIER_CACHE
    """,
    ".NET": "DOTNET_ROOT DOTNET_CLI_HOME DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO NUGET_PACKAGES",
    "others": """
        GEM_HOME GEM_PATH BUNDLE_PATH BUNDLE_GEMFILE BUNDLE_JOBS RBENV_ROOT RBENV_VERSION RUBYLIB RUBYOPT
        COMPOSER_HOME COMPOSER_CACHE_DIR PHPRC PERL5LIB PERL_LOCAL_LIB_ROOT PERL_MB_OPT PERL_MM_OPT
        LUA_PATH LUA_CPATH OPAMROOT OPAM_SWITCH_PREFIX CAML_LD_LIBRARY_PATH OCAML_TOPLEVEL_PATH
        GHCUP_INSTALL_BASE_PREFIX STACK_ROOT CABAL_DIR MIX_ENV MIX_HOME HEX_HOME ERL_LIBS JULIA_DEPOT_PATH
        JULIA_PROJECT R_HOME R_LIBS R_LIBS_USER DART_SDK FLUTTER_ROOT PUB_CACHE ZIG_GLOBAL_CACHE_DIR
        SWIFTLY_HOME_DIR
    """,
    "who makes commits": "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL",
    "Windows": """
        SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERNAME USERPROFILE HOMEDRIVE HOMEPATH PUBLIC
        APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432
        COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMPUTERNAME NUMBER_OF_PROCESSORS
        PROCESSOR_ARCHITECTURE PROCESSOR_IDENTIFIER MSYSTEM
    """,
}
NAMES = lazy_pattern(
    "|".join(re.escape(name).replace(r"\*", ".*") for names in INHERITED.values() for name in names.split()),
    re.DOTALL,
)


# What no pattern of the user's stands for, only a name written in full: what may be a key, and what changes
# which programs run, or how.
IN_FULL_ONLY = lazy_pattern(
    r".*(?:KEY|TOKEN|SECRET|PASS|PWD|CRED|AUTH|LOGIN|COOKIE|SESSION|JWT|BEARER|DSN|WEBHOOK|SIGN|CERT|PRIVATE).*"
    r"|.*_(?:URL|URI|PAT)"
    r"|(?:GIT|LD|DYLD|BASH|SSH|SUDO|HANDRAIL)_.*"
    r"|ENV|CDPATH|GLOBIGNORE|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|IFS",
    re.DOTALL,
)
WRITTEN = lazy_pattern(r"[A-Za-z_*][A-Za-z0-9_()*]*")
LEAST_CHARS = 3  # of a pattern, so that it is for some names and not for all
LIMIT_NAMES = 200
LIMIT_CHARS = 200  # of a name


def read(value: object) -> tuple[str, ...] | str:
    """The names in a setting's value, which may have `*` in them; else what is wrong, for the user."""
    if not isinstance(value, list | tuple):
        return "it must be a list of names"
    if len(value) > LIMIT_NAMES:
        return f"it has {len(value)} names; the limit is {LIMIT_NAMES}"
    for number, each in enumerate(value, 1):
        if not isinstance(each, str) or len(each) > LIMIT_CHARS or not WRITTEN.fullmatch(each):
            return f'name {number} must be like "MY_TOOL_HOME" or "MY_TOOL_*"'
        if "*" in each and len(each.replace("*", "")) < LEAST_CHARS:
            return f'name {number}, "{each}", matches nearly everything; write more of the name'
    return tuple(value)


def inherited_variables(environment: Mapping[str, str], added: Collection[str] = ()) -> dict[str, str]:
    """Returns the variables of *environment* for a program that we start; *added* are names from the user."""
    full = names_in_full(added)
    patterns = [wildcard.text_regex(name.upper()) for name in added if "*" in name]
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in full
        or (not LOGIN.search(value) and (NAMES.fullmatch(name.upper()) or _is_meant(name.upper(), patterns)))
    }


def names_in_full(added: Collection[str]) -> frozenset[str]:
    """Returns the names in *added* that are not patterns, in capital letters."""
    return frozenset(name.upper() for name in added if "*" not in name)


def _is_meant(name: str, patterns: Collection[re.Pattern[str]]) -> bool:
    """Whether a name in capital letters is one that a pattern may stand for."""
    return not IN_FULL_ONLY.fullmatch(name) and any(each.fullmatch(name) for each in patterns)
