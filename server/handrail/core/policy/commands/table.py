"""
The commands that are known to change nothing, with all their options; see `options` for how a row is read.

Options are left out on purpose: options that write (`sort -o`), run something (`find -exec`), read files that
they do not name themselves (`date -f`, `wc --files0-from`), or follow links out of a folder (`grep -R`, `ls
-L`), or have a temporary file written (`sort -S`). Options that only other systems have are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.core.policy.commands.options import Below, Row

SUMS = Row(options="-btz --binary --tag --text --zero", operands="file*")
GREP = Row(
    options=(
        "-EFGPivyxwcLloqsbHhnTZzUaI -e:^ -f<^ -m: -A: -B: -C: -# -r! -d:! -D: --regexp:^ --file<^ "
        "--recursive! --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case "
        "--no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? "
        "--files-without-match --files-with-matches --max-count: --only-matching --quiet --silent "
        "--no-messages --byte-offset --with-filename --no-filename --label: --line-number --initial-tab "
        "--null --after-context: --before-context: --context: --text --binary-files: --directories:! "
        "--devices: --include: --exclude: --exclude-dir: --line-buffered --null-data"
    ),
    operands="text file*",
    below=Below.CONTENTS,
    implied=".",
)

TABLE: Mapping[str, Row] = {
    "basename": Row(options="-az -s: --multiple --suffix: --zero", operands="text*"),
    "cat": Row(
        options=(
            "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs "
            "--show-nonprinting"
        ),
        operands="file*",
    ),
    "cksum": Row(operands="file*"),
    "cmp": Row(
        options="-bls -i: -n: --print-bytes --verbose --quiet --silent --bytes: --ignore-initial:",
        operands="file file text text",
    ),
    "comm": Row(
        options="-123z --check-order --nocheck-order --output-delimiter: --total --zero-terminated",
        operands="file file",
    ),
    "cut": Row(
        options=(
            "-b: -c: -d: -f: -nsz --bytes: --characters: --delimiter: --fields: --complement "
            "--only-delimited --output-delimiter: --zero-terminated"
        ),
        operands="file*",
    ),
    "date": Row(
        options="-uR -d: -I? -r< --date: --iso-8601? --reference< --rfc-email --rfc-3339: --utc --universal",
        operands="format",
    ),
    "df": Row(
        options=(
            "-aHhiklPTm -B: -t: -x: --all --block-size: --human-readable --si --inodes --local --portability "
            "--print-type --total --output? --type: --exclude-type: --no-sync"
        ),
        operands="file*",
    ),
    "diff": Row(
        options=(
            "-qscuywbBiatTdEZNpne -U: -C: -W: -I: -F: --brief --report-identical-files --context? --unified? "
            "--ed --rcs --normal --side-by-side --width: --left-column --suppress-common-lines "
            "--show-c-function --show-function-line: --label: --expand-tabs --initial-tab --ignore-case "
            "--ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space "
            "--ignore-blank-lines --ignore-matching-lines: --text --strip-trailing-cr --minimal "
            "--speed-large-files --color? --new-file --no-dereference"
        ),
        operands="tree tree",
        below=Below.LINKED,
    ),
    "dirname": Row(options="-z --zero", operands="text*"),
    "du": Row(
        options=(
            "-0abchklmsSx -B: -d: -t: --all --apparent-size --block-size: --bytes --total --max-depth: "
            "--human-readable --inodes --si --summarize --one-file-system --null --time? --time-style: "
            "--exclude: --separate-dirs --threshold:"
        ),
        operands="tree*",
        below=Below.NAMES,
        implied=".",
    ),
    "echo": Row(operands="text*"),  # and options that `special` reads
    "egrep": GREP,
    "expr": Row(operands="text*"),
    "false": Row(operands="text*"),
    "fgrep": GREP,
    "file": Row(
        options=(
            "-bhikLNnr0 -F: -e: -P: --brief --no-dereference --mime --mime-type --mime-encoding --extension "
            "--keep-going --dereference --no-pad --no-buffer --raw --separator: --exclude: --parameter: "
            "--print0"
        ),
        operands="file*",
    ),
    "find": Row(operands="tree*", below=Below.NAMES, implied="."),  # and an expression that `special` reads
    "fold": Row(options="-bs -w: --bytes --spaces --width:", operands="file*"),
    "grep": GREP,
    "head": Row(
        options="-qvz -c: -n: -# --bytes: --lines: --quiet --silent --verbose --zero-terminated",
        operands="file*",
    ),
    "id": Row(options="-agGnruzZ --group --groups --name --real --user --zero --context", operands="text*"),
    "ls": Row(
        options=(
            "-aAbBcCdfFgGhHiklmnNopqQrsStuUvxXZ1 -R! -I: -w: -T: --all --almost-all --author --escape "
            "--block-size: --ignore-backups --color? --directory --classify? --file-type --format: "
            "--full-time --group-directories-first --no-group --human-readable --si "
            "--dereference-command-line --hide: --hyperlink? --indicator-style: --inode --ignore: "
            "--kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name "
            "--quoting-style: --reverse --recursive! --size --sort: --time: --time-style: --tabsize: "
            "--width: --context --zero"
        ),
        operands="file*",
        below=Below.NAMES,
        implied=".",
    ),
    "md5sum": SUMS,
    "nl": Row(
        options=(
            "-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering: --section-delimiter: "
            "--footer-numbering: --header-numbering: --line-increment: --join-blank-lines: --number-format: "
            "--no-renumber --number-separator: --starting-line-number: --number-width:"
        ),
        operands="file*",
    ),
    "paste": Row(options="-sz -d: --delimiters: --serial --zero-terminated", operands="file*"),
    "printf": Row(operands="text text*"),  # `special` reads its format
    "pwd": Row(options="-LP --logical --physical", added=("-L",)),
    "readlink": Row(
        options=(
            "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet "
            "--silent --verbose --zero"
        ),
        operands="file*",
    ),
    "realpath": Row(
        options=(
            "-eELPmqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet "
            "--relative-to: --relative-base: --strip --no-symlinks --zero"
        ),
        operands="file*",
    ),
    "rev": Row(operands="file*"),
    "rg": Row(
        options=(
            "-FiSsvwxclonNHI0aUPqp -e:^ -f<^ -g: -t: -T: -m: -A: -B: -C: -d: -j: -M: -E: -r: -u* -.* "
            "--hidden* --unrestricted* --regexp:^ --file<^ --glob: --iglob: --type: --type-not: --max-count: "
            "--max-depth: --max-columns: --color: --colors: --sort: --sortr: --context-separator: --engine: "
            "--encoding: --replace: --threads: --after-context: --before-context: --context: --fixed-strings "
            "--ignore-case --smart-case --case-sensitive --invert-match --word-regexp --line-regexp --count "
            "--count-matches --files-with-matches --files-without-match --only-matching --line-number "
            "--no-line-number --column --no-column --with-filename --no-filename --null --text --multiline "
            "--multiline-dotall --pcre2 --quiet --pretty --files^ --json --stats --heading --no-heading "
            "--vimgrep --trim --no-messages --type-list^ --no-config --no-ignore --no-ignore-vcs "
            "--no-ignore-parent --passthru --one-file-system"
        ),
        operands="text tree*",
        below=Below.VISIBLE,
        implied=".",
        hides=(
            "--iglob",
            "!.*",
        ),  # else rules of the workspace, such as `!.env` in `.ignore`, would show them
    ),
    "sed": Row(
        options="-nEruz -s --quiet --silent --regexp-extended --separate --unbuffered --null-data",
        operands="rows file*",
    ),
    "seq": Row(options="-w -f: -s: -# --equal-width --format: --separator:", operands="text text text"),
    "sha1sum": SUMS,
    "sha256sum": SUMS,
    "sha512sum": SUMS,
    "sort": Row(
        options=(
            "-bdfgiMhnRrVcCmsuz -k: -t: --ignore-leading-blanks --dictionary-order --ignore-case "
            "--general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort "
            "--random-sort --reverse --sort: --version-sort --check? --debug --key: --merge --stable "
            "--field-separator: --parallel: --unique --zero-terminated"
        ),
        operands="file*",
    ),
    "stat": Row(
        options="-Lft -c: --dereference --file-system --format: --printf: --terse --cached:", operands="file*"
    ),
    "strings": Row(
        options=(
            "-afwdo -n: -t: -e: -s: -# --all --data --bytes: --print-file-name --radix: --encoding: "
            "--output-separator: --include-all-whitespace"
        ),
        operands="file*",
        forbidden="^@",  # it would read options from that file
    ),
    "tac": Row(options="-br -s: --before --regex --separator:", operands="file*", from_files=True),
    "tail": Row(
        options=(
            "-fFqvz -c: -n: -s: -# --bytes: --follow? --lines: --max-unchanged-stats: --quiet --silent "
            "--retry --sleep-interval: --verbose --zero-terminated"
        ),
        operands="file*",
    ),
    "test": Row(operands="text*"),  # `special` reads it
    "[": Row(operands="text*"),
    "tr": Row(options="-cCdst --complement --delete --squeeze-repeats --truncate-set1", operands="text text"),
    "tree": Row(
        options=(
            "-adfipsughDFqNnCAJvtcUrxQ -L: -P: -I: -H: -T: --dirsfirst --filesfirst --noreport --du --prune "
            "--filelimit: --charset: --sort: --matchdirs --ignore-case --gitignore --si --inodes --device "
            "--timefmt: --nolinks"
        ),
        operands="tree*",
        below=Below.NAMES,
        implied=".",
        values_apart=True,  # `-Po` has a pattern and writes a file
    ),
    "true": Row(operands="text*"),
    "uname": Row(
        options=(
            "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine "
            "--processor --hardware-platform --operating-system"
        )
    ),
    "uniq": Row(
        options=(
            "-cdDiuz -f: -s: -w: -# --count --repeated --all-repeated? --group? --skip-fields: --skip-chars: "
            "--ignore-case --unique --check-chars: --zero-terminated"
        ),
        operands="file",
        options_first=True,
        forbidden=r"^\+",  # once an option, so that the next operand is written
    ),
    "wc": Row(options="-clmwL --bytes --chars --lines --words --max-line-length --total:", operands="file*"),
    "which": Row(options="-a", operands="text*", own_path=True),
    "whoami": Row(),
}
