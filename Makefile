# Two commands do all the set-up: `make demo` and `make test`. Both install what is missing from Debian's packages, as do
# `make packages` and the measurements; `make install` and `make uninstall` never do.

CARGO ?= cargo
# Debian's, which has the modules that the platform's tools are installed with.
PYTHON := /usr/bin/python3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
TARGET := $(or $(CARGO_TARGET_DIR),target)
RINGTAP := $(TARGET)/release/ringtap
QUICK := $(TARGET)/quick/ringtap
SHIPPED := $(TARGET)/shipped/ringtap
PACKAGED := $(TARGET)/packages
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
MOTO := $(TARGET)/moto
SCHEMATHESIS := $(TARGET)/schemathesis
PYTHON_CLIENT := $(TARGET)/python-client
DUCKDB := $(TARGET)/duckdb
PLATFORM := $(abspath $(TARGET)/platform)
SBOM := $(TARGET)/ringtap.cdx.json
SKIPPED := $(abspath $(TARGET)/skipped-tests.txt)

.PHONY: platform-up platform-down platform-check platform-upgrade platform-test platform-load platform-tried platform-lint packages-platform help demo page page-test client-test api-test test released build release lint figures bless bench instructions bless-instructions fuzz sanitize deny sbom faults torture install uninstall packages test-packages packages-build packages-test packages-bench packages-deb

help:
	@echo "make demo    build ringtap and run it on the capture that ships with the project"
	@echo "make test    install what the tests need and run all of them"
	@echo "make build   the program to install: $(SHIPPED), and its debug information beside it"
	@echo "make install   what make build built, into PREFIX=/usr/local, below DESTDIR; make uninstall removes it"
	@echo "make packages  .deb and tarball of it: $(PACKAGED)"
	@echo "make test-packages  installs, runs, upgrades and purges them in bare Debian roots; SUITES='bookworm trixie'"
	@echo "make lint    formatting and lints"
	@echo "make page    the page of the console, from web/, as it becomes part of the program; make page-test tests it, in Chromium too"
	@echo "make client-test  the Python client, clients/python, on a real console"
	@echo "make api-test  asks a console what its API describes, for ten minutes; SECONDS=n for longer"
	@echo "make figures sizes of functions and files, import cycles, names; kept in docs/figures.md"
	@echo "make bless   write the expected records of cases/ anew, to be read before they are committed"
	@echo "make bench   everything that has a target, measured; about an hour. BENCH='--rounds 3 --only media,calls' for less"
	@echo "make instructions        instructions that a packet, a message and a call cost, against bench/instructions.json"
	@echo "make bless-instructions  write them anew"
	@echo "make faults  faults of a spool's files, through library and program, and power cuts; FAULTS=n, default a million"
	@echo "make deny    licences, sources and advisories of the dependencies, against deny.toml"
	@echo "make sbom    a bill of materials in CycloneDX: $(SBOM)"
	@echo "make torture hostile traffic of thirteen kinds against the daemon, with 1,000 calls beside it; ten minutes. TORTURE='--kinds invite'"
	@echo "make platform-up    a highly available telephone platform in network namespaces (platform/README.md); platform-check, platform-upgrade, platform-down"
	@echo "make platform-test  failovers of it during calls, beside the figures of a paper; REPEAT=n runs of each, KINDS='moved proxy-lost', RESULTS=runs.jsonl"
	@echo "make platform-load  load tests of it, beside the figures of the same paper; DURATION=180 for 3 minutes each, RUNS=n, CPU='pbx=0.1 proxy=0.7', LOADS='one-1 media'"
	@echo "make fuzz    ten minutes of each fuzz target (needs cargo-fuzz)"
	@echo "make sanitize  tests of the crates with unsafe code under the address sanitizer and Miri (needs nightly Rust)"

# Compiled with less optimisation and without S3, which is what most of the time goes to.
demo: packages-build page
	$(CARGO) build --profile quick --no-default-features --locked -p ringtap
	@echo
	@echo "== ringtap analyze demo/calls.pcap"
	@$(QUICK) analyze demo/calls.pcap
	@echo
	@echo "One call in full, with its message ladder:  $(QUICK) call CALL-ID demo/calls.pcap"
	@echo "Its packets and its sound:                  $(QUICK) extract demo/calls.pcap --call CALL-ID --pcap call.pcap --wav call.wav"
	@echo "Every record as JSON:                       $(QUICK) analyze --format jsonl demo/calls.pcap"
	@echo
	@echo "This build is for a first look. For work, make build: $(SHIPPED), fully optimised and with S3."
	@echo
	@echo "== ringtap open demo/calls.pcap"
	@tools/open $(QUICK) demo/calls.pcap

build: release
	@mkdir -p $(dir $(SHIPPED))
	@objcopy --only-keep-debug --compress-debug-sections $(RINGTAP) $(SHIPPED).debug
	@objcopy --strip-all --add-gnu-debuglink=$(SHIPPED).debug $(RINGTAP) $(SHIPPED)
	@tools/dependencies notices $(dir $(SHIPPED))NOTICES >/dev/null
	@ls -sh $(SHIPPED) $(SHIPPED).debug

# Builds nothing, so that root compiles nothing: as `make build && sudo make install`.
install:
	@packaging/installed $(SHIPPED) PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR) DESTDIR=$(DESTDIR)

uninstall:
	@packaging/install --uninstall PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR) DESTDIR=$(DESTDIR)

packages: packages-deb build
	@packaging/build $(SHIPPED) $(SHIPPED).debug $(PACKAGED)

# Needs root, for the roots that it makes with debootstrap, from the mirror that apt is configured for.
test-packages: packages-deb packages
	@$(SUDO) python3 packaging/test.py $(abspath $(PACKAGED)) $(or $(SUITES),bookworm trixie)

release: packages-build page
	$(CARGO) build --release --locked -p ringtap

# Ends with the tests that were skipped, whatever became of the others. The page's tests, which wait for most of their time for a
# browser, run beside those in Rust; the platform, which takes both processors, after them.
test: packages-test packages-platform page lint deny sbom
	@rm -f $(SKIPPED)
	@tools/meanwhile '$(MAKE) --no-print-directory page-test client-test' \
		'RINGTAP_SKIPPED=$(SKIPPED) $(CARGO) test --workspace --locked && $(MAKE) --no-print-directory released instructions'; \
	status=$$?; $(MAKE) --no-print-directory platform-tried || status=1; tools/skipped $(SKIPPED); exit $$status

# The page of the console, which is part of the program.
page:
	@tools/page

page-test:
	@tools/page test

# The Python client, on a console that it starts.
client-test: packages-test
	@clients/python/test

# Ten minutes, with other requests each time.
api-test: packages-test
	RINGTAP_API_SECONDS=$(or $(SECONDS),600) RINGTAP_API_REPORT=$(abspath $(TARGET)/api) $(CARGO) test --locked -p ringtap --test api -- --include-ignored --nocapture

# By the profile of the tests, so that C libraries are compiled once.
lint: packages-build platform-lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --profile test --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --profile test -p ringtap-bucket -p ringtap-notify -p ringtap-oidc -p ringtap-daemon --no-default-features --all-targets --locked -- -D warnings

# Prints the figures of the source tree and keeps them in docs/figures.md. FIGURES=--builds times the two commands too.
figures:
	@$(CARGO) run --quiet --locked -p ringtap-figures -- $(FIGURES)

bless:
	RINGTAP_BLESS=1 $(CARGO) test -p ringtap-cases --test golden
	@git --no-pager diff --stat -- cases

bench: packages-bench release
	$(CARGO) build --release --locked -p ringtap-bench -p ringtap-audio -p ringtap-spool -p ringtap-store -p ringtap-intercept --example live --example speed --example measure --example fill --example targets --example subscribers
	python3 bench/table.py --ringtap $(RINGTAP) --programs $(dir $(RINGTAP))examples --duckdb $(DUCKDB)/bin/python $(BENCH)

# Whether the records are right as the program is built to be installed, too.
released: packages-test
	$(CARGO) test --release --locked -p ringtap-cases --test golden

instructions: packages-test
	$(CARGO) bench --locked -p ringtap-bench --bench instructions

bless-instructions: packages-test
	RINGTAP_BLESS=1 $(CARGO) bench --locked -p ringtap-bench --bench instructions

fuzz:
	fuzz/run

sanitize: packages-build
	tools/sanitize

# A million faults take an hour on two cores. The tests try a sample of both.
faults: packages-build release
	RINGTAP_FAULTS=$(or $(FAULTS),1000000) RINGTAP_PROGRAM=$(abspath $(RINGTAP)) $(CARGO) test --release --locked -p ringtap-spool --test faults -- --nocapture
	RINGTAP_POWER_CUTS=1000 $(CARGO) test --release --locked -p ringtap-spool -p ringtap-store --test power -- --nocapture

# Takes seconds: what cargo-deny checks is checked by a script where cargo-deny is not installed, but for the advisories.
deny: packages-test
	@tools/dependencies check

sbom: packages-test
	@mkdir -p $(dir $(SBOM))
	@tools/dependencies sbom $(SBOM)

# Needs root: it makes network namespaces of its own, and removes them.
torture: packages-test release
	$(SUDO) python3 bench/torture.py --ringtap $(RINGTAP) $(TORTURE)

# The platform needs root: it makes network namespaces and boots Debian roots in them, below $(PLATFORM), and removes all but the
# bare roots again.
platform-up: packages-platform
	@$(SUDO) $(PYTHON) platform/machine.py --folder $(PLATFORM) up

platform-down:
	@$(SUDO) $(PYTHON) platform/machine.py --folder $(PLATFORM) down

platform-check: packages-platform
	@$(SUDO) $(PYTHON) platform/machine.py --folder $(PLATFORM) check

platform-upgrade: packages-platform
	@$(SUDO) $(PYTHON) platform/machine.py --folder $(PLATFORM) upgrade

platform-test: packages-platform packages-test release
	@$(SUDO) $(PYTHON) platform/machine.py --folder $(PLATFORM) again
	@[ -n "$(KINDS)" ] || for each in services access dialogs storage; do $(SUDO) $(PYTHON) platform/tests/$$each.py --folder $(PLATFORM) || exit 1; done
	@$(SUDO) $(PYTHON) platform/tests/failover.py --folder $(PLATFORM) --ringtap $(RINGTAP) --repeat $(or $(REPEAT),1) --calls $(or $(CALLS),10) \
		$(if $(RESULTS),--results $(RESULTS)) $(KINDS)
	@[ -n "$(KINDS)" ] || $(SUDO) $(PYTHON) platform/tests/watched.py --folder $(PLATFORM) --ringtap $(RINGTAP)

# With the program that the tests were built with.
platform-tried: packages-platform
	@$(SUDO) env RINGTAP_SKIPPED=$(SKIPPED) $(PYTHON) platform/tests/tried.py --folder $(PLATFORM)-tried --roots $(PLATFORM)/roots --ringtap $(TARGET)/debug/ringtap

# As long as the paper's, 29 hours with two runs of each, unless DURATION is given; goes on from the runs of earlier commands.
platform-load: packages-platform packages-test release
	@$(SUDO) $(PYTHON) platform/tests/load.py --folder $(PLATFORM) --ringtap $(RINGTAP) --runs $(or $(RUNS),2) \
		$(if $(DURATION),--duration $(DURATION)) $(if $(CPU),--cpu '$(CPU)') $(if $(RATE),--rate $(RATE)) $(if $(RESULTS),--results $(RESULTS)) $(LOADS)

# Without Ansible, only what needs none is read.
platform-lint:
	@python3 platform/lint.py
	@python3 -m unittest discover --quiet --start-directory platform/tests

# A C compiler builds SQLite and zstd, which are compiled in.
packages-build:
	@command -v cc >/dev/null || $(MAKE) --no-print-directory apt PACKAGES="gcc libc6-dev"

packages-test: packages-build
	@missing=""; \
	for program in chromium curl ffmpeg openssl sox tshark valgrind; do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	command -v ip >/dev/null || missing="$$missing iproute2"; \
	for package in busybox:busybox dhclient:isc-dhcp-client dnsmasq:dnsmasq-base dumpcap:wireshark-common nsenter:util-linux; do \
		command -v $${package%%:*} >/dev/null || missing="$$missing $${package##*:}"; done; \
	python3 -c 'import json, subprocess' 2>/dev/null || missing="$$missing python3"; \
	for library in bcg729:bcg729-0 opencore-amrnb:opencore-amrnb0 opencore-amrwb:opencore-amrwb0 opus:opus0 spandsp:spandsp2 vo-amrwbenc:vo-amrwbenc0; do \
		/sbin/ldconfig -p | grep -q "lib$${library%%:*}\.so" || missing="$$missing lib$${library##*:}"; done; \
	python3 -c 'import ensurepip' 2>/dev/null || missing="$$missing python3-venv"; \
	[ -z "$$missing" ] || $(MAKE) --no-print-directory apt PACKAGES="$$missing"
	@$(MAKE) --no-print-directory $(MOTO)/requirements.txt || echo "moto, the S3 server for tests, cannot be installed: the tests that need it are skipped"
	@$(MAKE) --no-print-directory $(SCHEMATHESIS)/requirements.txt || echo "schemathesis, which tests the API, cannot be installed: its test is skipped"
	@$(MAKE) --no-print-directory $(PYTHON_CLIENT)/requirements-test.txt || echo "pandas, pyarrow and mypy cannot be installed: the tests of the Python client that need them are skipped"

# A server that speaks S3, in an environment of its own.
$(MOTO)/requirements.txt: crates/bucket/tests/moto/requirements.txt
	@echo "installing: moto into $(MOTO)"
	@rm -rf $(MOTO)
	@python3 -m venv $(MOTO)
	@$(MOTO)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@cp $< $@

# What asks the console for all that its API describes, in an environment of its own.
$(SCHEMATHESIS)/requirements.txt: crates/ringtap/tests/api/requirements.txt
	@echo "installing: schemathesis into $(SCHEMATHESIS)"
	@rm -rf $(SCHEMATHESIS)
	@python3 -m venv $(SCHEMATHESIS)
	@$(SCHEMATHESIS)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@cp $< $@

# What tests the Python client, in an environment of its own.
$(PYTHON_CLIENT)/requirements-test.txt: clients/python/requirements-test.txt
	@echo "installing: pandas, pyarrow and mypy into $(PYTHON_CLIENT)"
	@rm -rf $(PYTHON_CLIENT)
	@python3 -m venv $(PYTHON_CLIENT)
	@$(PYTHON_CLIENT)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@cp $< $@

packages-bench: packages-test
	@missing=""; \
	for program in fio strace; do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	[ -z "$$missing" ] || $(MAKE) --no-print-directory apt PACKAGES="$$missing"
	@$(MAKE) --no-print-directory $(DUCKDB)/requirements.txt || echo "DuckDB cannot be installed: the console is not compared with it"

# What searches of the console are compared with.
$(DUCKDB)/requirements.txt: bench/requirements.txt
	@echo "installing: DuckDB into $(DUCKDB)"
	@rm -rf $(DUCKDB)
	@python3 -m venv $(DUCKDB)
	@$(DUCKDB)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@cp $< $@

# Tools alone: what runs in the nodes is installed in their roots.
packages-platform:
	@missing=""; \
	for program in ansible-playbook:ansible-core debootstrap:debootstrap ip:iproute2 nsenter:util-linux openssl:openssl sipp:sip-tester dumpcap:wireshark-common mkfs.ext4:e2fsprogs; do \
		PATH=$$PATH:/usr/sbin command -v $${program%%:*} >/dev/null || missing="$$missing $${program##*:}"; done; \
	$(PYTHON) -c 'import json, subprocess' 2>/dev/null || missing="$$missing python3"; \
	for library in cryptography:cryptography OpenSSL:openssl websocket:websocket; do \
		$(PYTHON) -c "import $${library%%:*}" 2>/dev/null || missing="$$missing python3-$${library##*:}"; done; \
	[ -z "$$missing" ] || $(MAKE) --no-print-directory apt PACKAGES="$$missing"

packages-deb: packages-build
	@missing=""; \
	for program in dpkg-deb:dpkg objcopy:binutils debootstrap:debootstrap unshare:util-linux ip:iproute2; do \
		PATH=$$PATH:/usr/sbin command -v $${program%%:*} >/dev/null || missing="$$missing $${program##*:}"; done; \
	python3 -c 'import json, subprocess' 2>/dev/null || missing="$$missing python3"; \
	[ -z "$$missing" ] || $(MAKE) --no-print-directory apt PACKAGES="$$missing"

.PHONY: apt
apt:
	@echo "installing:$(PACKAGES)"
	@$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq update
	@$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $(PACKAGES) >/dev/null
