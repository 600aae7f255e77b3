//! Calls of Orrery's own management API; other servers of the protocol do not have it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::Method;
use serde_json::Value;

use super::Account;
use super::request::Request;
use crate::Result;

impl Account {
    /// Asks the management API: `path` follows `/_orrery/`.
    pub async fn ask(&self, path: &str) -> Result<Value> {
        self.manage(Method::GET, path, None).await
    }

    /// Tells the management API to do something.
    pub async fn tell(&self, path: &str, body: &Value) -> Result<Value> {
        self.manage(Method::POST, path, Some(body)).await
    }

    async fn manage(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let bearer = format!("Bearer {}", BASE64.encode(self.key()));
        let request =
            Request::new(method, format!("_orrery/{path}")).header("authorization", bearer);
        let request = match body {
            Some(body) => request.body(body),
            None => request,
        };
        self.call(&request).await?.json()
    }
}
