import { sealedTwoFactorSecrets } from './accounts/two-factor.ts';
import { sealedConnections, sealedCredentials } from './channels/credentials.ts';
import { sealedPasswordCells } from './mailbox/passwords.ts';
import type { SealedColumn } from './platform/vault.ts';
import { sealedSettings } from './site-settings/settings.ts';
import type { Executor } from './tables.ts';
import { sealedShareTokens } from './video/shares.ts';
import { sealedWebhookSecrets } from './webhooks/endpoint-store.ts';

/** All columns encrypted under the master key. */
export const encryptedColumns = (kysely: Executor): SealedColumn[] => [
  sealedCredentials(kysely),
  sealedConnections(kysely),
  sealedTwoFactorSecrets(kysely),
  ...sealedPasswordCells(kysely),
  ...sealedWebhookSecrets(kysely),
  sealedShareTokens(kysely),
  sealedSettings(kysely),
];
