import { Group, Stack, Switch, Table, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { changeChannel } from '../../../../contract/channels.ts';
import { DeleteButton } from '../../../components/delete-button-and-panel.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import type { ChannelDetail } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import type { Vendor } from '../../../data/vendor-queries.ts';
import { AddCredentials } from './add-credentials.tsx';
import { ChannelStatusBadge } from './channel-status-badge.tsx';
import {
  type Credential,
  type CredentialListItems,
  credentialLabel,
  storedCredentialItems,
} from './credential-labels-schemes-and-form-values.ts';
import { CredentialTestButton } from './credential-test-button.tsx';
import { EditCredential } from './edit-credential.tsx';
import { toErrorReason } from './upstream-error-reason-codes.ts';

interface CredentialsPanelProps {
  readonly channel: ChannelDetail;
  readonly vendor: Vendor;
}

/** The credentials of a channel, each with its own health, and a form for more of them. */
export function CredentialsPanel({ channel, vendor }: CredentialsPanelProps) {
  const { t } = useTranslation('admin-channels');
  const { credential_list: list } = channel;
  const change = (credential_list: CredentialListItems) =>
    callApi(changeChannel, { params: { id: String(channel.id) }, body: { credential_list } });
  return (
    <Panel title={t('credentials.title')}>
      <Stack>
        <Text size="sm" c="dimmed">
          {t('credentials.several')}
        </Text>
        <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('credentials.title')}>
          <Table.Tbody>
            {list.map((credential) => (
              <Table.Tr key={credential.id}>
                <Table.Td style={{ overflowWrap: 'anywhere', verticalAlign: 'top' }}>
                  <CredentialFacts credential={credential} isOnly={list.length === 1} />
                </Table.Td>
                <Table.Td style={{ verticalAlign: 'top' }}>
                  <Group gap="xs" justify="flex-end">
                    <EnabledSwitch channel={channel} credential={credential} change={change} />
                    <CredentialTestButton channelId={channel.id} credential={credential} />
                    <EditCredential channel={channel} credential={credential} vendor={vendor} change={change} />
                    {list.length === 1 ? null : (
                      <DeleteButton
                        label={t('credentials.remove')}
                        title={t('credentials.removeTitle', { name: credentialLabel(credential) })}
                        text={t('credentials.removeText')}
                        confirmLabel={t('credentials.remove')}
                        remove={() => change(storedCredentialItems(channel).filter(({ id }) => id !== credential.id))}
                        message={t('credentials.removed', { name: credentialLabel(credential) })}
                      />
                    )}
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <AddCredentials key={list.length} channel={channel} vendor={vendor} change={change} />
      </Stack>
    </Panel>
  );
}

interface CredentialFactsProps {
  readonly credential: Credential;
  /** Its health is the channel's, which is shown already. */
  readonly isOnly: boolean;
}

function CredentialFacts({ credential, isOnly }: CredentialFactsProps) {
  const { t } = useTranslation('admin-channels');
  const { hint, enabled, condition, reason, rests_until: until, unfinished_tasks: open } = credential;
  return (
    <>
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {credentialLabel(credential)}
        </Text>
        {isOnly && enabled ? null : <ChannelStatusBadge enabled={enabled} condition={condition} />}
      </Group>
      <Text size="xs" c="dimmed">
        {hint === '' ? null : `${hint} · `}
        {t('credentials.open', { count: open })}
      </Text>
      {isOnly || reason === '' ? null : (
        <Text size="xs" c="dimmed">
          {t(`reasons.${toErrorReason(reason)}`)}
          {until === 0 ? null : (
            <>
              {' · '}
              {t('health.back')} <RelativeTime at={until} />
            </>
          )}
        </Text>
      )}
    </>
  );
}

interface EnabledSwitchProps {
  readonly channel: ChannelDetail;
  readonly credential: Credential;
  readonly change: (list: CredentialListItems) => Promise<unknown>;
}

function EnabledSwitch({ channel, credential, change }: EnabledSwitchProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const toggle = useMutation({
    mutationFn: (enabled: boolean) =>
      change(
        storedCredentialItems(channel).map((entry) => (entry.id === credential.id ? { ...entry, enabled } : entry)),
      ),
    onSuccess: invalidate,
  });
  return (
    <>
      <Switch
        aria-label={t('credentials.enabledOf', { name: credentialLabel(credential) })}
        checked={toggle.isPending ? toggle.variables : credential.enabled}
        disabled={toggle.isPending}
        onChange={(event) => toggle.mutate(event.currentTarget.checked)}
      />
      <ErrorAlert error={toggle.error} />
    </>
  );
}
