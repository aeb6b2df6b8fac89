"""riffle-source on s3://, gs:// and http://, by s3fs, gcsfs and aiohttp, from servers on loopback that speak those protocols."""

import functools
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "python/riffle_source.py"
ROWS = [{"text": f"document {i} é 漢", "n": i} for i in range(3000)]
PARTS = {"a.parquet": ROWS[:1000], "b.parquet": ROWS[1000:2500], "c.jsonl": ROWS[2500:]}


@pytest.fixture
def s3(monkeypatch):
    from moto.server import ThreadedMotoServer
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "none",
                        "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    yield fsspec.filesystem("s3", skip_instance_cache=True)
    server.stop()


@pytest.fixture
def gs(monkeypatch):
    from gcp_storage_emulator.server import create_server
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True)
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # asks another service, by gRPC
    yield fsspec.filesystem("gs", token="anon", project="none", skip_instance_cache=True)
    server.stop()


@pytest.fixture
def web(tmp_path):
    folder = tmp_path / "web"
    folder.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_files_of_a_web_server_are_read(web):
    folder, address = web
    pq.write_table(pa.Table.from_pylist(ROWS[:2000]), folder / "a.parquet", row_group_size=400)
    (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[2000:]))
    for resume in (0, 401, 2500):
        done = subprocess.run([sys.executable, SCRIPT, f"{address}/b.jsonl", f"{address}/a.parquet"], capture_output=True,
                              timeout=120, env={**os.environ, "RIFFLE_RESUME": str(resume)})
        assert done.returncode == 0, done.stderr.decode()
        assert [json.loads(line) for line in done.stdout.splitlines()] == ROWS[resume:]


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_rows_of_a_bucket_come_in_order_from_any_row_on(request, scheme, tmp_path):
    store = request.getfixturevalue(scheme)
    store.mkdir("bucket")
    for name, rows in PARTS.items():
        path = tmp_path / name
        if name.endswith(".parquet"):
            pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=400)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        store.put(str(path), f"bucket/web/{name}")
    for resume in (0, 1, 999, 1000, 2600):
        done = subprocess.run([sys.executable, SCRIPT, f"{scheme}://bucket/web/*"], capture_output=True, timeout=120,
                              env={**os.environ, "RIFFLE_RESUME": str(resume)})
        assert done.returncode == 0, done.stderr.decode()
        assert [json.loads(line) for line in done.stdout.splitlines()] == ROWS[resume:], resume


def test_a_bucket_that_is_not_there_is_said(s3):
    done = subprocess.run([sys.executable, SCRIPT, "s3://nowhere/web/*.parquet"], capture_output=True, timeout=120)
    assert done.returncode == 2
    assert "s3://nowhere/web/*.parquet" in done.stderr.decode()
