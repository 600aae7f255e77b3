// Code that connects, ready to paste, for six SDKs. Names come from the account and are quoted for each language.
import { endpoint } from './api.js';

const q = (text) => JSON.stringify(text);
export const SDK = [
  ['Python', (u, d, c) => `from azure.cosmos import CosmosClient\n\nclient = CosmosClient(${q(u)}, KEY${u.startsWith('https') ? ', connection_verify=False' : ''})\ncontainer = client.get_database_client(${q(d)}).get_container_client(${q(c)})`],
  ['JavaScript', (u, d, c) => `import { CosmosClient } from "@azure/cosmos";\n\nconst client = new CosmosClient({ endpoint: ${q(u)}, key: KEY });\nconst container = client.database(${q(d)}).container(${q(c)});`],
  ['.NET', (u, d, c) => `using Microsoft.Azure.Cosmos;\n\nvar client = new CosmosClient(${q(u)}, key,\n    new CosmosClientOptions { ConnectionMode = ConnectionMode.Gateway, LimitToEndpoint = true });\nvar container = client.GetContainer(${q(d)}, ${q(c)});`],
  ['Java', (u, d, c) => `import com.azure.cosmos.*;\n\nCosmosClient client = new CosmosClientBuilder()\n    .endpoint(${q(u)}).key(KEY).gatewayMode().buildClient();\nCosmosContainer container = client.getDatabase(${q(d)}).getContainer(${q(c)});`],
  ['Go', (u, d, c) => `import "github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"\n\ncredential, _ := azcosmos.NewKeyCredential(key)\nclient, _ := azcosmos.NewClientWithKey(${q(u)}, credential, nil)\ncontainer, _ := client.NewContainer(${q(d)}, ${q(c)})`],
  ['Rust', (u, d, c) => `use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, RoutingStrategy};\n\nlet account = AccountReference::with_authentication_key(${q(u)}.parse::<AccountEndpoint>()?, KEY);\nlet client = CosmosClient::builder().build(account, RoutingStrategy::ProximityTo("East US".into())).await?;\nlet container = client.database_client(${q(d)}).container_client(${q(c)}).await?;`],
];
export const connectCode = (name, db, coll) => SDK.find(([n]) => n === name)[1](endpoint, db, coll);
