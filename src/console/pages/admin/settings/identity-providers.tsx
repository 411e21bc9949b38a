import {
  Alert,
  Badge,
  Button,
  Code,
  Group,
  Menu,
  PasswordInput,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type IdentityProvider, testIdentityProvider } from '../../../../contract/identity-providers.ts';
import { type SiteSetting, updateSiteSetting } from '../../../../contract/service.ts';
import { CopyField } from '../../../components/copy-button.tsx';
import { ConfirmDialog, FormDialog } from '../../../components/dialog.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { callApi } from '../../../data/api-client.ts';
import { formatLabelled } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';
import { PRESETS, type ProviderDraft, type ProviderPreset, toDraft, toProvider } from './provider-draft.ts';

type ShownProvider = Omit<IdentityProvider, 'client_secret'>;

/** The identity providers of the site: a list, and a form with a test for each. */
export function IdentityProviders({ setting }: { readonly setting: SiteSetting }) {
  const { t } = useTranslation(['admin-settings', 'app']);
  const [editing, setEditing] = useState<{ readonly index: number; readonly draft: ProviderDraft }>();
  const providers = setting.value === '' ? [] : (JSON.parse(setting.value) as ShownProvider[]);
  const save = useSaveProviders();
  const store = (index: number, provider: ShownProvider | undefined) =>
    save(providers.toSpliced(index, 1, ...(provider === undefined ? [] : [provider])));
  return (
    <Stack gap="sm" data-setting={setting.name}>
      <div>
        <Text size="sm" fw={500}>
          {t('names.OIDC_PROVIDERS')}
        </Text>
        <Text size="xs" c="dimmed">
          {t('hints.OIDC_PROVIDERS')}
        </Text>
      </div>
      {providers.map((provider, index) => (
        <Group key={provider.id} justify="space-between" wrap="nowrap" gap="sm">
          <div style={{ minWidth: 0 }}>
            <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
              {provider.title}
            </Text>
            <Code style={{ overflowWrap: 'anywhere' }}>{provider.issuer}</Code>
          </div>
          {setting.editable ? (
            <Group gap={4} wrap="nowrap">
              <Button
                size="compact-sm"
                variant="subtle"
                aria-label={t('providers.editOf', { title: provider.title })}
                onClick={() => setEditing({ index, draft: toDraft(provider) })}
              >
                {t('app:edit')}
              </Button>
              <ConfirmDialog
                title={t('providers.removeTitle', { title: provider.title })}
                confirmLabel={t('app:remove')}
                onConfirm={() => store(index, undefined)}
                trigger={(open) => (
                  <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
                    {t('app:remove')}
                  </Button>
                )}
              >
                {t('providers.removeText')}
              </ConfirmDialog>
            </Group>
          ) : null}
        </Group>
      ))}
      <Group gap="xs">
        {setting.editable ? (
          <AddMenu onPick={(draft) => setEditing({ index: providers.length, draft })} />
        ) : (
          <Badge color="blue">{t('source.environment')}</Badge>
        )}
      </Group>
      {editing === undefined ? null : (
        <ProviderDialog
          initial={editing.draft}
          onSave={(provider) => store(editing.index, provider)}
          onClose={() => setEditing(undefined)}
        />
      )}
    </Stack>
  );
}

function useSaveProviders(): (providers: readonly ShownProvider[]) => Promise<void> {
  const { t } = useTranslation('admin-settings');
  const queries = useQueryClient();
  const toasts = useToasts();
  return async (providers) => {
    const value = providers.length === 0 ? null : JSON.stringify(providers);
    await callApi(updateSiteSetting, { params: { name: 'OIDC_PROVIDERS' }, body: { value } });
    toasts.success(t('saved', { count: 1 }));
    await queries.invalidateQueries();
  };
}

function AddMenu({ onPick }: { readonly onPick: (draft: ProviderDraft) => void }) {
  const { t } = useTranslation('admin-settings');
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button variant="default" leftSection={<IconPlus size={16} />}>
          {t('providers.add')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {(Object.entries(PRESETS) as [ProviderPreset, ProviderDraft][]).map(([preset, draft]) => (
          <Menu.Item key={preset} onClick={() => onPick(draft)}>
            {preset === 'oidc' ? t('providers.other') : draft.title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

interface ProviderDialogProps {
  readonly initial: ProviderDraft;
  readonly onSave: (provider: ShownProvider) => Promise<void>;
  readonly onClose: () => void;
}

function ProviderDialog({ initial, onSave, onClose }: ProviderDialogProps) {
  const { t } = useTranslation('admin-settings');
  const [draft, setDraft] = useState(initial);
  const save = useMutation({
    mutationFn: async () => onSave(toProvider(draft)),
    onSuccess: onClose,
  });
  const change = (part: Partial<ProviderDraft>): void => setDraft({ ...draft, ...part });
  return (
    <FormDialog title={initial.title || t('providers.other')} submitLabel={t('save')} save={save} onClose={onClose}>
      <ClientFields draft={draft} isNew={initial.clientId === ''} onChange={change} />
      <AccessFields draft={draft} onChange={change} />
      <ProviderTest draft={draft} />
    </FormDialog>
  );
}

interface FieldsProps {
  readonly draft: ProviderDraft;
  readonly onChange: (part: Partial<ProviderDraft>) => void;
}

/** Where the provider is, and how this service is registered with it. */
function ClientFields({ draft, isNew, onChange }: FieldsProps & { readonly isNew: boolean }) {
  const { t } = useTranslation('admin-settings');
  const { data: status } = useStatus();
  const prefix = `${status?.server_address}/auth/${draft.id}`;
  return (
    <>
      <Group grow align="flex-start">
        <TextInput
          label={t('providers.title')}
          required
          maxLength={60}
          value={draft.title}
          onChange={(event) => onChange({ title: event.currentTarget.value })}
        />
        <TextInput
          label={t('providers.id')}
          description={t('providers.idHint')}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          required
          pattern="[a-z0-9][a-z0-9\-]{0,31}"
          value={draft.id}
          onChange={(event) => onChange({ id: event.currentTarget.value })}
        />
      </Group>
      {draft.preset === 'microsoft' ? (
        <TextInput
          label={t('providers.tenant')}
          description={t('providers.tenantHint')}
          required
          pattern="[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
          value={draft.tenant}
          onChange={(event) => onChange({ tenant: event.currentTarget.value.trim() })}
        />
      ) : draft.preset === 'oidc' ? (
        <TextInput
          label={t('providers.issuer')}
          description={t('providers.issuerHint')}
          required
          type="url"
          value={draft.issuer}
          onChange={(event) => onChange({ issuer: event.currentTarget.value.trim() })}
        />
      ) : null}
      <Stack gap={4}>
        <Text size="sm" fw={500}>
          {t('providers.redirect')}
        </Text>
        <CopyField text={`${prefix}/callback`} label={t('providers.redirect')} />
      </Stack>
      {draft.preset === 'github' ? null : (
        <Stack gap={4}>
          <Text size="sm" fw={500}>
            {t('providers.logout')}
          </Text>
          <CopyField text={`${prefix}/backchannel-logout`} label={t('providers.logout')} />
        </Stack>
      )}
      <TextInput
        label={t('providers.clientId')}
        required
        spellCheck={false}
        value={draft.clientId}
        onChange={(event) => onChange({ clientId: event.currentTarget.value.trim() })}
      />
      <PasswordInput
        label={t('providers.clientSecret')}
        description={isNew ? undefined : t('providers.secretHint')}
        required={isNew}
        // Browsers ignore "off" and fill in the password of the administrator.
        autoComplete="new-password"
        value={draft.clientSecret}
        onChange={(event) => onChange({ clientSecret: event.currentTarget.value.trim() })}
      />
    </>
  );
}

/** Who may sign in, and as what. */
function AccessFields({ draft, onChange }: FieldsProps) {
  const { t } = useTranslation('admin-settings');
  return (
    <>
      <Switch
        label={t('providers.autoCreate')}
        description={t('providers.autoCreateHint')}
        checked={draft.autoCreate}
        onChange={(event) => onChange({ autoCreate: event.currentTarget.checked })}
      />
      <TagsInput
        label={t('providers.domains')}
        description={t('providers.domainsHint')}
        value={[...draft.domains]}
        onChange={(domains) => onChange({ domains: domains.map((each) => each.trim().toLowerCase()) })}
      />
      {draft.autoCreate ? (
        <TextInput
          label={t('providers.plan')}
          description={t('providers.planHint')}
          pattern="[a-z0-9_\-]{1,40}"
          value={draft.plan}
          onChange={(event) => onChange({ plan: event.currentTarget.value.trim() })}
        />
      ) : null}
      <TextInput
        label={t('providers.adminClaim')}
        description={t('providers.adminClaimHint')}
        value={draft.adminClaim}
        onChange={(event) => onChange({ adminClaim: event.currentTarget.value.trim() })}
      />
      {draft.adminClaim === '' ? null : (
        <TagsInput
          label={t('providers.adminValues')}
          value={[...draft.adminValues]}
          onChange={(adminValues) => onChange({ adminValues })}
        />
      )}
    </>
  );
}

/** Checks the settings as they are in the form, before they are saved. */
function ProviderTest({ draft }: { readonly draft: ProviderDraft }) {
  const { t } = useTranslation('admin-settings');
  const test = useMutation({
    mutationFn: async () =>
      (await callApi(testIdentityProvider, { body: { provider: toProvider(draft) } })).data.checks,
  });
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t('providers.test')}
        </Button>
      </Group>
      <ErrorAlert error={test.error} />
      {test.data?.map(({ name, ok, detail }) => (
        <Alert key={name} p="xs" variant="light" color={ok ? 'teal' : 'red'} role="status">
          {formatLabelled(t(`providers.checks.${name}`), ok ? t('providers.passed') : detail)}
        </Alert>
      ))}
    </Stack>
  );
}
