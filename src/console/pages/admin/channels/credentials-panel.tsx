import { Button, Group, Stack, Switch, Table, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { changeChannel, getChannel, testChannel } from '../../../../contract/channels.ts';
import { DeleteButton } from '../../../components/delete-button.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { SaveForm, useSaveAndClose } from '../../../components/save-form.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { type ChannelDetail, useInvalidateQueries, type Vendor } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatLabelled } from '../../../data/format-values.ts';
import { CredentialFieldInput, useCredentialLabel } from './channel-form.tsx';
import {
  type Credential,
  CredentialLineError,
  type CredentialListItems,
  credentialLabel,
  fitsOnLines,
  parseCredentialLines,
  schemeOfKeys,
  storedCredentialItems,
  toCredentials,
} from './channel-form-values.ts';
import { ChannelStatusBadge, toErrorReason } from './channel-status.tsx';

/** Returns the credentials a channel should have, given those it has. */
type CredentialEdit = (stored: CredentialListItems) => CredentialListItems;

interface CredentialsPanelProps {
  readonly channel: ChannelDetail;
  readonly vendor: Vendor;
}

/** Credentials of a channel, each with its own health, and a form to add more. */
export function CredentialsPanel({ channel, vendor }: CredentialsPanelProps) {
  const { t } = useTranslation('admin-channels');
  const { credential_list: list } = channel;
  // A list from the page would remove the credentials that another administrator has added since it was loaded.
  const change = async (edit: CredentialEdit) => {
    const params = { id: String(channel.id) };
    const { data } = await callApi(getChannel, { params });
    return callApi(changeChannel, { params, body: { credential_list: edit(storedCredentialItems(data)) } });
  };
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
                    <EnabledSwitch credential={credential} change={change} />
                    <CredentialTestButton channelId={channel.id} credential={credential} />
                    <EditCredential credential={credential} vendor={vendor} change={change} />
                    {list.length === 1 ? null : (
                      <DeleteButton
                        label={t('credentials.remove')}
                        title={t('credentials.removeTitle', { name: credentialLabel(credential) })}
                        text={t('credentials.removeText')}
                        confirmLabel={t('credentials.remove')}
                        remove={() => change((stored) => stored.filter(({ id }) => id !== credential.id))}
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
  /** Whether this is the only credential, whose health equals the channel's, which is already shown. */
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
  readonly credential: Credential;
  readonly change: (edit: CredentialEdit) => Promise<unknown>;
}

function EnabledSwitch({ credential, change }: EnabledSwitchProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const toggle = useMutation({
    mutationFn: (enabled: boolean) =>
      change((stored) => stored.map((entry) => (entry.id === credential.id ? { ...entry, enabled } : entry))),
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

interface AddCredentialsProps {
  readonly channel: ChannelDetail;
  readonly vendor: Vendor;
  readonly change: (edit: CredentialEdit) => Promise<unknown>;
}

/** Adds credentials of the channel's scheme: pasted one per line, or one service account at a time. */
function AddCredentials({ channel, vendor, change }: AddCredentialsProps) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const fieldLabel = useCredentialLabel();
  const scheme = schemeOfKeys(channel.credential_keys, vendor);
  const onLines = fitsOnLines(scheme);
  const [lines, setLines] = useState('');
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const isEmpty = onLines ? lines.trim() === '' : Object.values(typed).every((text) => text.trim() === '');
  const save = async (): Promise<void> => {
    const added = onLines ? parseCredentialLines(lines, scheme) : [toCredentials(scheme, typed)];
    await change((stored) => [...stored, ...added.map((credentials) => ({ credentials }))]);
    await invalidate();
    toasts.success(t('app:saved'));
  };
  const explain = (error: Error): Error => {
    if (error instanceof CredentialLineError) return new Error(t('credentials.badLine', { line: error.line }));
    return error instanceof SyntaxError ? new Error(t('channels.noJson')) : error;
  };
  return (
    <SaveForm submitLabel={t('credentials.add')} save={save} disabled={isEmpty} explain={explain}>
      {onLines ? (
        <Textarea
          label={t('credentials.more')}
          description={t('credentials.moreHint', {
            fields: scheme.fields.map(({ name }) => fieldLabel(name)).join(' | '),
          })}
          autosize
          minRows={2}
          maxRows={8}
          autoComplete="off"
          spellCheck={false}
          value={lines}
          onChange={(event) => setLines(event.currentTarget.value)}
        />
      ) : (
        scheme.fields.map((field) => (
          <CredentialFieldInput
            key={field.name}
            {...field}
            required={!isEmpty}
            value={typed[field.name] ?? ''}
            onChange={(value) => setTyped({ ...typed, [field.name]: value })}
          />
        ))
      )}
    </SaveForm>
  );
}

interface EditCredentialProps {
  readonly credential: Credential;
  readonly vendor: Vendor;
  readonly change: (edit: CredentialEdit) => Promise<unknown>;
}

/** Button with a dialog to rename a credential or replace its stored keys. */
function EditCredential(props: EditCredentialProps) {
  const { t } = useTranslation('admin-channels');
  const [opened, setOpened] = useState(false);
  const name = credentialLabel(props.credential);
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={t('credentials.changeOf', { name })}
        onClick={() => setOpened(true)}
      >
        {t('credentials.change')}
      </Button>
      {opened ? <ReplaceDialog {...props} onClose={() => setOpened(false)} /> : null}
    </>
  );
}

function ReplaceDialog({
  credential,
  vendor,
  change,
  onClose,
}: EditCredentialProps & { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const scheme = schemeOfKeys(credential.keys, vendor);
  const [name, setName] = useState(credential.name);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const isTyped = scheme.fields.some((field) => (typed[field.name] ?? '').trim() !== '');
  const save = useSaveAndClose(
    async () => {
      const news = { name: name.trim(), ...(isTyped && { credentials: toCredentials(scheme, typed) }) };
      return change((stored) => stored.map((entry) => (entry.id === credential.id ? { ...entry, ...news } : entry)));
    },
    { onClose },
  );
  const error = save.error instanceof SyntaxError ? new Error(t('channels.noJson')) : save.error;
  return (
    <FormDialog
      title={t('credentials.changeOf', { name: credentialLabel(credential) })}
      submitLabel={t('app:save')}
      save={{ ...save, error }}
      onClose={onClose}
    >
      <TextInput
        label={t('credentials.name')}
        description={t('channels.nameHint')}
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      {scheme.fields.map((field) => (
        <CredentialFieldInput
          key={field.name}
          {...field}
          required={isTyped}
          value={typed[field.name] ?? ''}
          onChange={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
    </FormDialog>
  );
}

interface TestCredentialProps {
  readonly channelId: number;
  readonly credential: Credential;
}

/** Tests one credential against the upstream; the result is a toast, and the health next to the button is refetched. */
function CredentialTestButton({ channelId, credential }: TestCredentialProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const name = credentialLabel(credential);
  const test = useMutation({
    mutationFn: async () => {
      const query = { credential_id: String(credential.id) };
      return (await callApi(testChannel, { params: { id: String(channelId) }, query })).data;
    },
    onSuccess: async ({ ok, duration_ms: ms, reason }) => {
      await invalidate();
      if (ok) toasts.success(formatLabelled(name, t('test.works', { ms })));
      else toasts.error(formatLabelled(name, t(`reasons.${toErrorReason(reason)}`)));
    },
    onError: (error) => toasts.error(error.message),
  });
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={t('credentials.testOf', { name })}
      loading={test.isPending}
      onClick={() => test.mutate()}
    >
      {t('test.action')}
    </Button>
  );
}
