//! Frames of HTTP/2 against a gateway with its limits, over a socket. A panic in the server ends the run.
#![no_main]

use std::{net::SocketAddr, sync::LazyLock};

use account::{Account, AccountOptions};
use gateway::{GatewayOptions, Keys, WELL_KNOWN_KEY};
use model::Env;
use tokio::{net::TcpListener, runtime::Runtime};

static SERVER: LazyLock<(Runtime, SocketAddr)> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let address = runtime.block_on(async {
        let options = AccountOptions::default();
        let account = Account::open(store::open_memory(), options, Env::system()).await.expect("an account");
        let gateway = gateway::app(account, GatewayOptions::new(Keys::new(WELL_KNOWN_KEY), Env::system()));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its number");
        tokio::spawn(async move { gateway.serve(listener, std::future::pending()).await });
        address
    });
    (runtime, address)
});

libfuzzer_sys::fuzz_target!(|frames: &[u8]| gateway::fuzz::http2(SERVER.1, frames));
