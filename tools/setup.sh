# Shared by ./run and ./test: missing packages, and steps that are quiet unless they fail. Sourced, not run.
# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034  # the lists are for the scripts that source this

# Packages of Debian 12 that the command needs, and those that the tests, the benchmarks and the lint add. LibTorch takes
# any BLAS; with the reference one it is ten times slower than with OpenBLAS. rsvg-convert of librsvg2-bin makes PNGs, esbuild
# bundles the script of the report. chromium is for the test of the report, node-typescript has the type checker; the
# Python package needs python3-dev and python3-venv, and takes its core from ccache instead of compiling it again.
PURETOUR_RUN_PACKAGES=(ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libtorch-dev libgloo-dev
                       libopenblas0-pthread librsvg2-bin esbuild)
PURETOUR_TEST_PACKAGES=(libgtest-dev libbenchmark-dev clang-format clang-tidy chromium node-typescript ccache python3-dev
                        python3-venv)

# A compiler cache must not grow outside the checkout.
export CCACHE_DIR="${CCACHE_DIR:-$root/build/ccache}"

die() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

# Prints those of the given packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || echo "$package"
  done
}

# An update that fails for one source may still do for our packages, so that its errors matter only if the installation
# fails too; both are in the log.
apt_get_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  ((EUID == 0)) || apt=(sudo "${apt[@]}")
  "${apt[@]}" update || true
  "${apt[@]}" install --yes --no-install-recommends "$@"
}

# install_packages PACKAGE...: installs what is missing, silently if nothing is.
# PURETOUR_SKIP_SETUP=1 trusts that the machine (another distribution, say) has what is needed.
install_packages() {
  [[ "${PURETOUR_SKIP_SETUP:-0}" == 1 ]] && return
  local wanted=("$@") missing
  # Any compiler and CMake on the PATH will do; only a machine without them gets Debian's.
  command -v cmake >/dev/null || wanted+=(cmake)
  command -v c++ >/dev/null || wanted+=(g++)
  local hint="install them by hand, or set PURETOUR_SKIP_SETUP=1 if this machine has them in another form"
  command -v apt-get >/dev/null ||
    die "there is no apt-get here; needed are the equivalents of these Debian packages: ${wanted[*]} ($hint)"
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  ((${#missing[@]})) || return 0

  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    die "not root, and there is no sudo; missing packages: ${missing[*]} ($hint)"
  fi
  echo "Missing packages: ${missing[*]}"
  step "Install them by apt-get" setup.log apt_get_install "${missing[@]}"
  mapfile -t missing < <(missing_packages "${missing[@]}")
  ((${#missing[@]} == 0)) || die "apt-get did not install: ${missing[*]} ($hint)"
}

# step TITLE LOG COMMAND...: runs COMMAND with its output in build/LOG, and prints TITLE and the seconds it took; shows
# the end of the log and exits if it fails.
step() {
  local title="$1" log="$root/build/$2" start status=0
  shift 2
  mkdir -p "$root/build"
  printf '%-26s' "$title"
  start=$(date +%s%N)
  "$@" </dev/null >"$log" 2>&1 || status=$?
  local tenths=$((($(date +%s%N) - start) / 100000000))
  if ((status == 0)); then
    printf '%6d.%d s\n' $((tenths / 10)) $((tenths % 10))
    return
  fi
  printf 'FAILED after %d.%d s\n' $((tenths / 10)) $((tenths % 10))
  tail -n 40 "$log" >&2
  die "'$*' ended with status $status; the whole log is $log"
}

# configure PRESET [CMAKE_OPTION...]
configure() {
  step "Configure $1" "$1-configure.log" cmake -S "$root" --preset "$@"
}

# build PRESET [NINJA_TARGET...]
build() {
  local preset="$1"
  shift
  step "Build $preset" "$preset-build.log" cmake --build "$root/build/$preset" \
    --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" ${1:+--target "$@"}
}
