import type { Endpoint } from '../../contract/endpoint.ts';
import type { RequestFacts } from './chat-request.ts';
import type { Dialect } from './dialect.ts';

/** A call to a path that the fast path serves. */
export interface FastPathCall extends Pick<RequestFacts, 'model' | 'stream'> {
  readonly endpoint: Pick<Endpoint, 'path' | 'bodyLimit' | 'maxBodyValues'>;
  readonly dialect: Dialect;
}
