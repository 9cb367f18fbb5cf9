#!/usr/bin/env bash
# The manual as a site, in build/book/html: README.md as its tour, docs/ and its plots, with search; and for programs
# that read, llms.txt with the pages it lists, where they are in the repository, and all in one file, minlsh.md. The
# mdbook of the PATH, or one that is compiled into build/mdbook, once.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:$PWD/build/mdbook/bin
command -v mdbook >/dev/null ||
	cargo install --locked --version 0.5.4 --root build/mdbook --no-default-features --features search mdbook

# Links of the pages outside docs/ lead to where those in docs/ are, and the other way round.
source=build/book/src
rm -rf build/book
mkdir -p "$source/bench" "$source/examples" "$source/tests"
cp -r docs/. "$source"
for page in README CONTRIBUTING CHANGELOG SECURITY bench/{README,EXPERIMENTS,FIGURES} examples/TEXTBOOK tests/README; do
	sed -E 's#\]\((\.\./)?docs/#](\1#g' "$page.md" >"$source/$page.md"
done
cp LICENSE "$source"
sed -i -E 's#\]\((\.\./)?\.\./((bench/|examples/|tests/)?[A-Z]+\.md)#](\1\2#g' \
	"$source"/{,reference/,how-to/}*.md
# Three pages that the navigation leaves out, so that their links lead somewhere.
printf '\n%s\n' --- '[The textbook in SQL](examples/TEXTBOOK.md)' '[Experiments](bench/EXPERIMENTS.md)' \
	'[More figures](bench/FIGURES.md)' \
	>>"$source/SUMMARY.md"
scripts/links.py "$source"
mdbook build
site=build/book/html
mapfile -t pages < <(sed -nE 's/^- \[[^]]*\]\(([^)]*)\).*/\1/p' llms.txt)
cp --parents llms.txt LICENSE "${pages[@]}" docs/plots/* "$site"
scripts/links.py "$site"
for page in "${pages[@]}"; do printf '<!-- %s -->\n\n%s\n\n\n' "$page" "$(cat "$page")"; done >"$site/minlsh.md"
echo "build/book/html/index.html"
