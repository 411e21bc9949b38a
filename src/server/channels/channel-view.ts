import { toSettings } from './channel-and-model-catalog.ts';
import type { ChannelRow } from './channel-and-model-store.ts';
import type { Channel } from './channel-directory-types.ts';
import type { ChannelConnection } from './credential-and-connection-encryption.ts';
import { type ChannelCredential, type CredentialList, hintOf } from './credential-list-type-and-changes.ts';
import { shownProxy } from './validate-extra-headers-and-proxy.ts';

/** A channel as administrators see it: the names of its keys, never their values. */
export interface ChannelView
  extends Omit<Channel, 'credentials' | 'credentialId' | 'private' | 'extraHeaders' | 'maxConcurrentTasks'> {
  readonly enabled: boolean;
  readonly credentials: readonly CredentialView[];
  readonly extraHeaderNames: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface CredentialView extends Omit<ChannelCredential, 'values'> {
  readonly keys: readonly string[];
  readonly hint: string;
}

export function toChannelView(row: ChannelRow, { items }: CredentialList, connection: ChannelConnection): ChannelView {
  const { private: _private, maxConcurrentTasks: _bound, extraHeaders = {}, ...shown } = toSettings(row, connection);
  return {
    ...shown,
    proxy: shownProxy(connection),
    extraHeaderNames: Object.keys(extraHeaders),
    enabled: row.enabled === 1,
    credentials: items.map(({ values, ...item }) => ({ ...item, keys: Object.keys(values), hint: hintOf(values) })),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
