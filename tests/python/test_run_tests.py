"""What a contributor sees of failed tests: scripts/run-tests, tests/unit/test.h, scripts/junit-counts, .ci/run."""

import os
import pathlib
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import ROOT

RUN = ROOT / "scripts/run-tests"


@pytest.fixture
def program(tmp_path):
    """program(name, text) -> path of a bash program that stands for one of cmocka."""
    def make(name, text):
        path = tmp_path / name
        path.write_text("#!/usr/bin/env bash\n" + textwrap.dedent(text))
        path.chmod(0o755)
        return path
    return make


def run(*programs, **env):
    return subprocess.run([RUN, *programs], env={**os.environ, **{k: str(v) for k, v in env.items()}}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)


def test_programs_run_side_by_side_and_each_prints_in_one_piece(program, tmp_path):
    # Each of the two waits for the other one's file: one after the other, they would not end.
    pair = [program(me, f"""
        for n in 1 2 3; do echo {me} $n; done
        touch {tmp_path}/{me}.is-here
        until [ -e {tmp_path}/{other}.is-here ]; do sleep 0.05; done
        echo {me} 4
        echo '[  FAILED  ] {me}_fails'
        exit 1
        """) for me, other in (("a", "b"), ("b", "a"))]
    done = run(*pair, JOBS=2, TEST_SECONDS=60)
    lines = done.stdout.splitlines()
    for me in "ab":
        first = lines.index(f"{me} 1")
        assert lines[first:first + 4] == [f"{me} {n}" for n in (1, 2, 3, 4)]
    assert done.returncode == 1


def test_a_run_closes_with_the_names_of_failed_tests_and_the_counts(program):
    good = program("good", "echo '[       OK ] one'; echo '[       OK ] two'")
    bad = program("bad", """
        echo '[       OK ] three'
        echo '[  FAILED  ] four'
        echo '[  FAILED  ] 1 test(s), listed below:'
        echo '[  FAILED  ] four'
        exit 1""")
    skips = program("skips", "echo '[       OK ] five'; echo '[  SKIPPED ] six'")
    dies = program("dies", "echo last words; kill -SEGV $$")
    empty = program("empty", "echo nothing")
    hangs = program("hangs", "exec sleep 60")
    done = run(good, bad, skips, dies, empty, hangs, TEST_SECONDS=2)
    *others, last = done.stdout.splitlines()
    assert last == "4 passed, 5 failed"
    assert sorted(others[-5:]) == sorted([
        f"FAILED {bad}: four", f"FAILED {skips}: six", f"FAILED {dies}: exit 139", f"FAILED {empty}: ran no test",
        f"FAILED {hangs}: exit 124"])
    assert "last words" in others and f"{hangs}: not done within 2 s" in others and "[       OK ] one" not in others
    assert done.returncode == 1
    done = run(good, good)
    assert done.stdout == "4 passed, 0 failed\n" and done.returncode == 0


def test_an_interrupted_run_ends_its_programs(program, tmp_path):
    pids = tmp_path / "pids"
    slow = program("slow", f"echo $$ >>{pids}; exec sleep 300")
    runner = subprocess.Popen([RUN, slow, slow], env={**os.environ, "JOBS": "2"})
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert runner.poll() is None
        time.sleep(0.02)
    runner.terminate()
    assert runner.wait(30) == 1
    for pid in pids.read_text().split():
        assert not pathlib.Path("/proc", pid).exists()


def test_a_failed_assertion_prints_the_row_the_sentence_and_decimal_numbers(tmp_path):
    source = tmp_path / "test_x.c"
    source.write_text(textwrap.dedent("""
        #include "tests/unit/test.h"

        static enum fail_code open_it(int n, struct failure *f)
        {
            return n < 2 ? FAIL_NONE : fail(f, FAIL_CONFIG, "run.yml: line %d is wrong", n);
        }

        static void test_opens(void **state)
        {
            static const struct { const char *text; int n; } rows[] = {{"one", 1}, {"seven", 7}};
            struct failure f;

            (void)state;
            EACH_NAMED_ROW(i, rows, text)
                assert_int_equal(open_it(rows[i].n, &f), FAIL_NONE);
        }

        static void test_counts(void **state)
        {
            int loss = -255;

            (void)state;
            assert_int_equal(loss, 1 << 20);
        }

        static void test_is_equal(void **state)
        {
            static const char *const texts[] = {"a", "b"};

            (void)state;
            EACH_ROW(k, texts)
                assert_string_equal(texts[k], "a");
        }

        int main(void)
        {
            const struct CMUnitTest tests[] = {cmocka_unit_test(test_opens), cmocka_unit_test(test_counts),
                cmocka_unit_test(test_is_equal)};
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
        """))
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", "-o", tmp_path / "test_x",
                    source, ROOT / "common/base/failure.c", "-lcmocka"], check=True)
    done = run(tmp_path / "test_x")
    said = done.stdout.replace(f"{source}:", "test_x.c:")
    assert "test_x.c:16: 3 (open_it(rows[i].n, &f)) is not 0 (FAIL_NONE)\n    in row 1 of rows: \"seven\"\n" \
           "    f.text is \"run.yml: line 7 is wrong\"\n" in said
    assert "test_x.c:24: -255 (loss) is not 1048576 (1 << 20)\n" in said
    assert "    in row 1 of texts: \"b\"\n" in said
    assert "in row" not in said[said.index("-255"):said.index("of texts") - len("    in row 1 ")]


def test_failed_tests_of_python_are_named(tmp_path):
    (tmp_path / "test_it.py").write_text(textwrap.dedent("""
        import pytest
        def test_good(): pass
        @pytest.mark.parametrize("n", [1, 2])
        def test_bad(n): assert n == 1
        @pytest.fixture
        def broken(): raise OSError
        def test_error(broken): pass
        def test_skip(): pytest.skip("why")
        """))
    report = tmp_path / "report.xml"
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", "test_it.py"],
                   cwd=tmp_path, stdout=subprocess.DEVNULL, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    counts = subprocess.run([ROOT / "scripts/junit-counts", report], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert counts.splitlines() == ["2 3", "FAILED test_it.py::test_bad[2]", "FAILED test_it.py::test_error",
                                   "FAILED test_it.py::test_skip"]


def test_ci_ends_with_what_failed(program, tmp_path):
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci/run").write_bytes((ROOT / ".ci/run").read_bytes())
    (tmp_path / ".ci/run").chmod(0o755)
    (tmp_path / "Makefile").write_text(textwrap.dedent("""
        test-all:
        \t@echo FAILED tests/python/test_x.py::test_early - as pytest itself names it
        \t@echo == more
        \t@echo 'FAILED tests/python/test_x.py::test_early[a - b]'; echo '7 passed, 1 failed'; exit 1
        check:
        \t@echo 'check: gcc warns'; exit 1
        asan:
        \t@echo '5 passed, 0 failed'
        """))
    done = subprocess.run([".ci/run"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = done.stdout.splitlines()
    end = lines[lines.index("FAILED make test-all: tests/python/test_x.py::test_early[a - b]"):]
    assert end[1] == "FAILED make check, which ended with:" and "    check: gcc warns" in end[2:-1]
    assert end[-1] == "12 passed, 2 failed" and done.returncode == 1
