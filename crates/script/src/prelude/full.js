// The whole API, for scripts that mention the query API.

import { install as installApi } from 'api';
import { install as installQuery } from 'query';

export function install(native) {
  return installApi(native, installQuery);
}
