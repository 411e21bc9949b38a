import { Alert, Badge, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PresenceProof } from '../../../contract/passkey-credentials.ts';
import {
  addPasskey,
  type Passkey,
  passkeyCreationOptions,
  removePasskey,
  renamePasskey,
} from '../../../contract/passkeys.ts';
import { ConfirmDialog, FormDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { createPasskey, NoPasskeyError, passkeysQuery, signalPasskeys, takePasskey } from '../../data/passkeys.ts';
import { selfQuery, useSelf, useStatus } from '../../data/self.ts';

/** Passkeys of the account: list, add, rename, remove. */
export function PasskeysSection() {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  const passkeys = useQuery(passkeysQuery);
  const [adding, setAdding] = useState(false);
  const state = status?.passkeys ?? 'on';
  const own = passkeys.data ?? [];
  return (
    <SettingsSection
      title={t('passkeys.title')}
      subtitle={t('passkeys.text')}
      aside={state === 'on' ? <Button onClick={() => setAdding(true)}>{t('passkeys.add')}</Button> : undefined}
    >
      <ErrorAlert error={passkeys.error} />
      <Stack gap="sm">
        {state === 'on' ? null : (
          <Alert variant="light" color="gray" p="xs" role="note">
            {t(`passkeys.off.${state}`)}
          </Alert>
        )}
        {passkeys.data?.length === 0 && state === 'on' ? (
          <Text size="sm" c="dimmed">
            {t('passkeys.none')}
          </Text>
        ) : null}
        {own.map((passkey) => (
          <PasskeyRow key={passkey.id} passkey={passkey} own={own} />
        ))}
      </Stack>
      {adding ? <AddDialog own={own} onClose={() => setAdding(false)} /> : null}
    </SettingsSection>
  );
}

/** Refetches what depends on the passkeys, and tells the browser which are left. */
function useAfterChange(own: readonly Passkey[]) {
  const queries = useQueryClient();
  return async (left?: readonly Passkey[]): Promise<void> => {
    await queries.invalidateQueries({ queryKey: passkeysQuery.queryKey });
    await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    const self = queries.getQueryData(selfQuery.queryKey);
    if (left !== undefined && self !== undefined) await signalPasskeys(own, left, self);
  };
}

function PasskeyRow({ passkey, own }: { readonly passkey: Passkey; readonly own: readonly Passkey[] }) {
  const { t } = useTranslation('sign-in');
  const toasts = useToasts();
  const afterChange = useAfterChange(own);
  const [renaming, setRenaming] = useState(false);
  const params = { id: String(passkey.id) };
  return (
    <Group justify="space-between" gap="xs" data-passkey={passkey.name}>
      <div style={{ minWidth: 0, flex: '1 1 200px' }}>
        <Group gap="xs">
          <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
            {passkey.name}
          </Text>
          {passkey.synced ? <Badge color="gray">{t('passkeys.synced')}</Badge> : null}
          {passkey.usable ? null : <Badge color="red">{t('passkeys.otherHost')}</Badge>}
        </Group>
        <Text size="xs" c="dimmed">
          {t('passkeys.created')} <RelativeTime at={passkey.created_time} />
          {' · '}
          {passkey.last_used_time === null ? (
            t('passkeys.never')
          ) : (
            <>
              {t('passkeys.lastUsed')} <RelativeTime at={passkey.last_used_time} />
            </>
          )}
        </Text>
        {passkey.usable ? null : <Text size="xs">{t('passkeys.otherHostText', { host: passkey.rp_id })}</Text>}
      </div>
      <Group gap={4}>
        <Button size="compact-sm" variant="subtle" onClick={() => setRenaming(true)}>
          {t('passkeys.rename')}
        </Button>
        <ConfirmDialog
          title={t('passkeys.removeTitle', { name: passkey.name })}
          confirmLabel={t('passkeys.remove')}
          onConfirm={async () => {
            await callApi(removePasskey, { params });
            await afterChange(own.filter(({ id }) => id !== passkey.id));
            toasts.success(t('passkeys.removed'));
          }}
          trigger={(open) => (
            <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
              {t('passkeys.remove')}
            </Button>
          )}
        >
          {t('passkeys.removeText')}
        </ConfirmDialog>
      </Group>
      {renaming ? <RenameDialog passkey={passkey} own={own} onClose={() => setRenaming(false)} /> : null}
    </Group>
  );
}

interface RenameDialogProps {
  readonly passkey: Passkey;
  readonly own: readonly Passkey[];
  readonly onClose: () => void;
}

function RenameDialog({ passkey, own, onClose }: RenameDialogProps) {
  const { t } = useTranslation(['sign-in', 'app']);
  const toasts = useToasts();
  const afterChange = useAfterChange(own);
  const [name, setName] = useState(passkey.name);
  const save = useMutation({
    mutationFn: () => callApi(renamePasskey, { params: { id: String(passkey.id) }, body: { name: name.trim() } }),
    onSuccess: async () => {
      await afterChange(own);
      toasts.success(t('passkeys.renamed'));
      onClose();
    },
  });
  return (
    <FormDialog
      title={t('passkeys.renameTitle')}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
      disabled={name.trim() === ''}
    >
      <TextInput
        label={t('passkeys.name')}
        maxLength={60}
        required
        withAsterisk={false}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

/** Asks for a proof that the owner is present, then lets the browser create the passkey. */
function AddDialog({ own, onClose }: { readonly own: readonly Passkey[]; readonly onClose: () => void }) {
  const { t } = useTranslation('sign-in');
  const toasts = useToasts();
  const { data: self } = useSelf();
  const afterChange = useAfterChange(own);
  const [name, setName] = useState('');
  const [secret, setSecret] = useState('');
  const hasCode = self?.has_2fa === true;
  const add = async (proof: PresenceProof): Promise<void> => {
    const { data } = await callApi(passkeyCreationOptions, { body: proof });
    const credential = await createPasskey(data);
    await callApi(addPasskey, { body: { name: name.trim(), credential } });
    await afterChange();
    toasts.success(t('passkeys.added'));
    onClose();
  };
  const explain = (error: Error): Error =>
    error instanceof NoPasskeyError ? new Error(t('passkeys.notCreated')) : error;
  const orExplained = (work: () => Promise<void>) => work().catch((error: Error) => Promise.reject(explain(error)));
  const save = useMutation({
    mutationFn: () =>
      orExplained(() => add(secret === '' ? {} : hasCode ? { code: secret.trim() } : { password: secret })),
  });
  const withPasskey = useMutation({
    mutationFn: () => orExplained(async () => add({ credential: await takePasskey() })),
  });
  const isNamed = name.trim() !== '';
  const input = {
    value: secret,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => setSecret(event.currentTarget.value),
  };
  return (
    <FormDialog
      title={t('passkeys.addTitle')}
      submitLabel={t('passkeys.create')}
      save={save}
      error={withPasskey.error}
      onClose={onClose}
      disabled={!isNamed || withPasskey.isPending}
    >
      <Text size="sm">{t('passkeys.addText')}</Text>
      <TextInput
        label={t('passkeys.name')}
        description={t('passkeys.nameHint')}
        maxLength={60}
        required
        withAsterisk={false}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {hasCode ? (
        <TextInput label={t('passkeys.code')} autoComplete="one-time-code" maxLength={64} {...input} />
      ) : (
        <PasswordInput label={t('passkeys.password')} autoComplete="current-password" maxLength={128} {...input} />
      )}
      {own.some((passkey) => passkey.usable) ? (
        <Button
          variant="subtle"
          disabled={!isNamed}
          loading={withPasskey.isPending}
          onClick={() => withPasskey.mutate()}
        >
          {t('passkeys.confirmWith')}
        </Button>
      ) : null}
    </FormDialog>
  );
}
