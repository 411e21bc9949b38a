import type { Endpoint } from '../../contract/endpoint.ts';
import type { RequestFacts } from './chat-request.ts';
import type { Dialect } from './dialect.ts';

/** A call by an address that the fast lane serves. */
export interface FastPathCall extends Pick<RequestFacts, 'model' | 'stream'> {
  readonly endpoint: Pick<Endpoint, 'path' | 'bodyLimit' | 'maxBodyValues'>;
  readonly dialect: Dialect;
}
