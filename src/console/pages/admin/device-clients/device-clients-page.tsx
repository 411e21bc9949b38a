import {
  ActionIcon,
  Alert,
  Button,
  Code,
  Group,
  MultiSelect,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconDeviceTvOld, IconKey, IconPencil, IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  adminAddClientSecret,
  adminCreateDeviceClient,
  adminDeleteClientSecret,
  adminDeleteDeviceClient,
  adminListDeviceClients,
  adminUpdateDeviceClient,
  CLIENT_SORTS,
  CLIENT_TYPES,
} from '../../../../contract/device-clients.ts';
import { OAUTH_SCOPES } from '../../../../contract/oauth.ts';
import { CopyField } from '../../../components/copy-button.tsx';
import { isListEmpty, PagedTable } from '../../../components/data-table.tsx';
import { DeleteButton } from '../../../components/delete-button.tsx';
import { ConfirmDialog, FormDialog, OneTimeSecretDialog } from '../../../components/dialog.tsx';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { type DeviceClient, listQuery, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatAside } from '../../../data/format-values.ts';

/** OAuth clients that can request device sign-ins. */
export function DeviceClientsPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters([], CLIENT_SORTS);
  const [making, setMaking] = useState(false);
  const clients = useQuery(listQuery(adminListDeviceClients, filters.query));
  const make = (
    <Button data-create leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      {t('deviceClients.make')}
    </Button>
  );
  return (
    <Page
      title={t('app:pages.deviceClients')}
      subtitle={t('deviceClients.lead')}
      actions={isListEmpty(clients, filters) ? undefined : make}
    >
      <PagedTable
        label={t('app:pages.deviceClients')}
        query={clients}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconDeviceTvOld size={28} />} title={t('deviceClients.emptyTitle')} action={make}>
            {t('deviceClients.emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('deviceClients.name'),
            sortKey: 'name',
            cell: (client) => (
              <>
                <Group gap={4} wrap="nowrap">
                  <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                    {client.name}
                  </Text>
                  <EditClient client={client} />
                </Group>
                <Code>{client.id}</Code>
              </>
            ),
          },
          {
            label: t('deviceClients.type'),
            cell: ({ type }) => <Text size="sm">{t(`deviceClients.typeNames.${type}`)}</Text>,
            hideOnPhone: true,
          },
          { label: t('deviceClients.devices'), sortKey: 'devices', align: 'right', cell: ({ devices }) => devices },
          {
            label: t('deviceClients.created'),
            sortKey: 'created',
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
            hideOnPhone: true,
          },
          { label: t('deviceClients.secrets'), cell: (client) => <ClientSecrets client={client} /> },
          { label: t('deviceClients.enabled'), cell: (client) => <EnabledSwitch client={client} /> },
          { label: t('app:remove'), align: 'right', cell: (client) => <DeleteClient client={client} /> },
        ]}
      />
      {making ? <NewClientDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

/** Disabling asks for confirmation, because codes, polls and refreshes fail immediately; enabling does not. */
function EnabledSwitch({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const set = async (enabled: boolean): Promise<void> => {
    await callApi(adminUpdateDeviceClient, { params: { id: client.id }, body: { enabled } });
    await invalidate();
  };
  const turnOn = useMutation({
    mutationFn: () => set(true),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <ConfirmDialog
      title={t('deviceClients.offTitle', { name: client.name })}
      confirmLabel={t('deviceClients.offAction', { name: client.name })}
      onConfirm={() => set(false)}
      trigger={(open) => (
        <Switch
          aria-label={t('deviceClients.enabledOf', { name: client.name })}
          checked={client.enabled}
          onChange={(event) => (event.currentTarget.checked ? turnOn.mutate() : open())}
        />
      )}
    >
      {t('deviceClients.offText', { count: client.devices })}
    </ConfirmDialog>
  );
}

function NewClientDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const [name, setName] = useState('');
  const [clientId, setClientId] = useState('');
  const [grants, setGrants] = useState<GrantValues>({ type: 'confidential', redirectUris: '', scopes: [] });
  const make = useMutation({
    mutationFn: async () =>
      (
        await callApi(adminCreateDeviceClient, {
          body: { name: name.trim(), client_id: clientId || undefined, ...toBody(grants) },
        })
      ).data,
    onSuccess: async (made) => {
      await invalidate();
      if (made.client_secret === undefined) onClose();
    },
  });
  if (make.data?.client_secret !== undefined) {
    return (
      <OneTimeSecretDialog title={t('deviceClients.secretOf', { name })} onClose={onClose}>
        <OneTimeClientSecret clientId={make.data.client_id} secret={make.data.client_secret} onClose={onClose} />
      </OneTimeSecretDialog>
    );
  }
  return (
    <FormDialog title={t('deviceClients.make')} submitLabel={t('deviceClients.make')} save={make} onClose={onClose}>
      <TextInput
        label={t('deviceClients.name')}
        description={t('deviceClients.nameHint')}
        maxLength={100}
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={formatAside(t('deviceClients.id'), t('app:optional'))}
        description={t('deviceClients.idHint')}
        pattern="[A-Za-z0-9._\-]{3,64}"
        spellCheck={false}
        value={clientId}
        onChange={(event) => setClientId(event.currentTarget.value)}
      />
      <GrantFields values={grants} onChange={setGrants} />
    </FormDialog>
  );
}

/** Properties for the authorization code grant, as typed. */
interface GrantValues {
  readonly type: DeviceClient['type'];
  /** One per line. */
  readonly redirectUris: string;
  /** Empty: all. */
  readonly scopes: NonNullable<DeviceClient['scopes']>;
}

const toBody = ({ type, redirectUris, scopes }: GrantValues) => ({
  type,
  redirect_uris: redirectUris.split(/\s+/).filter(Boolean),
  scopes: scopes.length === 0 ? null : scopes,
});

interface GrantFieldsProps {
  readonly values: GrantValues;
  readonly onChange: (values: GrantValues) => void;
}

function GrantFields({ values, onChange }: GrantFieldsProps) {
  const { t } = useTranslation('admin');
  return (
    <>
      <Select
        label={t('deviceClients.type')}
        data={CLIENT_TYPES.map((value) => ({ value, label: t(`deviceClients.types.${value}`) }))}
        allowDeselect={false}
        value={values.type}
        onChange={(chosen) =>
          onChange({ ...values, type: CLIENT_TYPES.find((each) => each === chosen) ?? values.type })
        }
      />
      <Textarea
        label={t('deviceClients.redirectUris')}
        description={t('deviceClients.redirectUrisHint')}
        autosize
        minRows={2}
        spellCheck={false}
        value={values.redirectUris}
        onChange={(event) => onChange({ ...values, redirectUris: event.currentTarget.value })}
      />
      <MultiSelect
        label={t('deviceClients.scopes')}
        description={t('deviceClients.scopesHint')}
        data={[...OAUTH_SCOPES]}
        value={[...values.scopes]}
        onChange={(chosen) => onChange({ ...values, scopes: OAUTH_SCOPES.filter((each) => chosen.includes(each)) })}
      />
    </>
  );
}

function EditClient({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation('admin');
  const [open, setOpen] = useState(false);
  return (
    <>
      <ActionIcon size="sm" aria-label={t('deviceClients.edit', { name: client.name })} onClick={() => setOpen(true)}>
        <IconPencil size={15} />
      </ActionIcon>
      {open ? <EditClientDialog client={client} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function EditClientDialog({ client, onClose }: { readonly client: DeviceClient; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const [name, setName] = useState(client.name);
  const [grants, setGrants] = useState<GrantValues>({
    type: client.type,
    redirectUris: client.redirect_uris.join('\n'),
    scopes: client.scopes ?? [],
  });
  const save = useMutation({
    mutationFn: () =>
      callApi(adminUpdateDeviceClient, {
        params: { id: client.id },
        body: { name: name.trim(), ...toBody(grants) },
      }),
    onSuccess: async () => {
      await invalidate();
      onClose();
    },
  });
  return (
    <FormDialog
      title={t('deviceClients.edit', { name: client.name })}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        label={t('deviceClients.name')}
        description={t('deviceClients.nameHint')}
        maxLength={100}
        required
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <GrantFields values={grants} onChange={setGrants} />
    </FormDialog>
  );
}

const MAX_SECRETS = 2;

/** Secrets of a client: one, or two while programs migrate to the new one. */
function ClientSecrets({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const add = useMutation({
    mutationFn: async () => (await callApi(adminAddClientSecret, { params: { id: client.id } })).data,
    onSuccess: invalidate,
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const retire = async (secret: number): Promise<void> => {
    await callApi(adminDeleteClientSecret, { params: { id: client.id, secret: String(secret) } });
    await invalidate();
  };
  if (client.type === 'public')
    return (
      <Text size="xs" c="dimmed">
        {t('deviceClients.noSecrets')}
      </Text>
    );
  return (
    <Stack gap={4} align="flex-start">
      {client.secrets.map(({ id, hint, created_time: at }) => (
        <Group key={id} gap={6}>
          <Code>{hint}…</Code>
          <RelativeTime at={at} size="xs" c="dimmed" />
          {client.secrets.length < 2 ? null : (
            <ConfirmDialog
              title={t('deviceClients.retireTitle', { hint, name: client.name })}
              confirmLabel={t('deviceClients.retireAction', { hint })}
              onConfirm={() => retire(id)}
              trigger={(open) => (
                <Button size="compact-xs" variant="subtle" color="red" onClick={open}>
                  {t('deviceClients.retire')}
                </Button>
              )}
            >
              {t('deviceClients.retireText')}
            </ConfirmDialog>
          )}
        </Group>
      ))}
      {client.secrets.length < MAX_SECRETS ? (
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconKey size={13} />}
          loading={add.isPending}
          onClick={() => add.mutate()}
          title={t('deviceClients.rotateHint')}
        >
          {t('deviceClients.rotate')}
        </Button>
      ) : (
        <Text size="xs" c="dimmed">
          {t('deviceClients.rotating')}
        </Text>
      )}
      {add.data === undefined ? null : (
        <OneTimeSecretDialog title={t('deviceClients.secretOf', { name: client.name })} onClose={add.reset}>
          <OneTimeClientSecret clientId={client.id} secret={add.data.client_secret} onClose={add.reset} />
        </OneTimeSecretDialog>
      )}
    </Stack>
  );
}

interface OneTimeSecretProps {
  readonly clientId: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows a client secret once. */
function OneTimeClientSecret({ clientId, secret, onClose }: OneTimeSecretProps) {
  const { t } = useTranslation('admin');
  return (
    <Stack>
      <Alert color="yellow" variant="light">
        {t('deviceClients.once')}
      </Alert>
      <Text size="sm" fw={600} mb={-8}>
        client_id
      </Text>
      <CopyField text={clientId} />
      <Text size="sm" fw={600} mb={-8}>
        client_secret
      </Text>
      <CopyField text={secret} focused />
      <Button onClick={onClose}>{t('deviceClients.copied')}</Button>
    </Stack>
  );
}

function DeleteClient({ client: { id, name, devices } }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'app']);
  return (
    <DeleteButton
      label={t('app:remove')}
      title={t('deviceClients.removeTitle', { name })}
      text={t('deviceClients.removeText', { count: devices })}
      confirmLabel={t('deviceClients.removeAction', { name })}
      remove={() => callApi(adminDeleteDeviceClient, { params: { id } })}
      message={t('deviceClients.removed', { name })}
    />
  );
}
