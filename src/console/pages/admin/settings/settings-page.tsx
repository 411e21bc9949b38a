import {
  Badge,
  Box,
  Button,
  FileButton,
  Group,
  Input,
  Select,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listSiteSettings, type SiteSetting, updateSiteSetting } from '../../../../contract/service.ts';
import { ErrorAlert, QueryError } from '../../../components/error-alert.tsx';
import { AmountInput } from '../../../components/limit-fields.tsx';
import { byLabelOrValue, toModelOptions } from '../../../components/model-name.tsx';
import { Page } from '../../../components/page.tsx';
import { SettingsSection } from '../../../components/panel.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { dataQuery, usePlanOptions } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { creditsToQuota } from '../../../data/field-values.ts';
import { readAsDataUrl } from '../../../data/media-types.ts';
import { usableModelsQuery, useStatus } from '../../../data/self.ts';
import type en from '../../../strings/en/admin-settings.ts';
import { IdentityProviders } from './identity-providers.tsx';

/** Site settings by subject, with one button to save for each. */
export function SettingsPage() {
  const { t } = useTranslation(['admin-settings', 'app']);
  const settings = useQuery(dataQuery(listSiteSettings, {}));
  const groups = [...new Set(settings.data?.map(({ group }) => group))];
  return (
    <Page title={t('app:pages.settings')} subtitle={t('lead')} size="md">
      <QueryError query={settings} />
      {settings.isLoading ? <Skeleton h={480} radius="lg" /> : null}
      <Stack gap="lg">
        {groups.map((group) => (
          <SettingsGroup
            key={group}
            group={group}
            settings={(settings.data ?? []).filter((setting) => setting.group === group)}
          />
        ))}
      </Stack>
    </Page>
  );
}

interface SettingsGroupProps {
  readonly group: SiteSetting['group'];
  readonly settings: readonly SiteSetting[];
}

/** Settings of one subject with a common button, which saves those that were changed. */
function SettingsGroup({ group, settings }: SettingsGroupProps) {
  const { t } = useTranslation('admin-settings');
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>({});
  const { save, errors } = useSaveSettings();
  const fields = settings.filter(({ kind }) => kind !== 'providers');
  const changed = fields.filter(({ name, value }) => drafts[name] !== undefined && drafts[name] !== value);
  const submit = async (): Promise<void> => {
    const saved = await save.mutateAsync(changed.map(({ name }) => [name, drafts[name] ?? '']));
    setDrafts((kept) => Object.fromEntries(Object.entries(kept).filter(([name]) => !saved.includes(name))));
  };
  return (
    <SettingsSection title={t(`groups.${group}`)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Stack gap="lg">
          {fields.map((setting) => (
            <SettingRow
              key={setting.name}
              setting={setting}
              value={drafts[setting.name] ?? setting.value}
              error={errors[setting.name]}
              onChange={(value) => setDrafts((kept) => ({ ...kept, [setting.name]: value }))}
              onReset={() => save.mutate([[setting.name, null]])}
            />
          ))}
          {group === 'accounts' ? <PasskeyNote /> : null}
          {fields.some(({ editable }) => editable) ? (
            <Group>
              <Button type="submit" disabled={changed.length === 0} loading={save.isPending}>
                {t('save')}
              </Button>
              {changed.length === 0 ? null : (
                <>
                  <Button variant="default" onClick={() => setDrafts({})}>
                    {t('discard')}
                  </Button>
                  <Text size="sm" role="status">
                    {t('unsaved', { count: changed.length })}
                  </Text>
                </>
              )}
            </Group>
          ) : null}
        </Stack>
      </form>
      {settings
        .filter(({ kind }) => kind === 'providers')
        .map((setting) => (
          <Box key={setting.name} mt="xl">
            <IdentityProviders setting={setting} />
          </Box>
        ))}
    </SettingsSection>
  );
}

type Change = readonly [name: string, value: string | null];

/** Saves settings one after another: a refused one keeps its error and its draft, the others are saved. */
function useSaveSettings() {
  const { t } = useTranslation('admin-settings');
  const queries = useQueryClient();
  const toasts = useToasts();
  const [errors, setErrors] = useState<Readonly<Record<string, unknown>>>({});
  const save = useMutation({
    mutationFn: async (changes: readonly Change[]): Promise<readonly string[]> => {
      const failed: Record<string, unknown> = {};
      for (const [name, value] of changes)
        await callApi(updateSiteSetting, { params: { name }, body: { value } }).catch((error: unknown) => {
          failed[name] = error;
        });
      setErrors(failed);
      return changes.map(([name]) => name).filter((name) => failed[name] === undefined);
    },
    onSuccess: async (saved) => {
      if (saved.length === 0) return;
      toasts.success(t('saved', { count: saved.length }));
      refreshLook();
      await queries.invalidateQueries();
    },
  });
  return { save, errors };
}

const SOURCE_COLORS = { environment: 'blue', database: 'teal' } as const;

interface SettingRowProps {
  readonly setting: SiteSetting;
  readonly value: string;
  readonly error: unknown;
  readonly onChange: (value: string) => void;
  readonly onReset: () => void;
}

/** One setting: its input, the source of its value unless that is the default, and its error. */
function SettingRow({ setting, value, error, onChange, onReset }: SettingRowProps) {
  const { t } = useTranslation('admin-settings');
  const { source } = setting;
  return (
    <Stack gap={6} data-setting={setting.name}>
      <SettingField setting={setting} value={value} onChange={onChange} />
      {source === 'default' ? null : (
        <Group gap="xs">
          <Badge color={SOURCE_COLORS[source]}>{t(`source.${source}`)}</Badge>
          {source === 'database' ? (
            <Button size="compact-xs" variant="subtle" color="gray" onClick={onReset}>
              {t('reset')}
            </Button>
          ) : null}
        </Group>
      )}
      {error === undefined ? null : <ErrorAlert error={error} />}
    </Stack>
  );
}

/** Reloads colours and logo on this page; other users get them with their next page load. */
function refreshLook(): void {
  const version = Date.now();
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[href^="/tokens.css"], link[href^="/logo"]'))
    link.href = `${link.href.split('?')[0]}?${version}`;
  for (const image of document.querySelectorAll<HTMLImageElement>('img[src^="/logo"]')) image.src = `/logo?${version}`;
}

const MAX_LOGO_BYTES = 90 * 1024;
const LOGO_TYPES = 'image/png,image/webp,image/jpeg';

interface SettingFieldProps {
  readonly setting: SiteSetting;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Settings that name a model, with its kind. */
const MODEL_SETTINGS: Readonly<Record<string, 'chat' | 'video'>> = {
  DEFAULT_VIDEO_MODEL: 'video',
  PROMPT_MODEL: 'chat',
};

/** The input of a setting, by its kind. */
function SettingField({ setting, value, onChange }: SettingFieldProps) {
  const { t } = useTranslation('admin-settings');
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const plans = usePlanOptions();
  const name = setting.name as keyof typeof en.names;
  const common = {
    label: t(`names.${name}`),
    description: t(`hints.${name}`),
    disabled: !setting.editable,
    flex: 1,
  };
  if (setting.kind === 'picture') return <LogoField {...common} value={value} onChange={onChange} />;
  if (setting.kind === 'choice')
    return (
      <Select
        {...common}
        data={setting.choices.map((each) => ({
          value: each,
          label: t(`choices.${each as keyof typeof en.choices}`),
        }))}
        value={value}
        allowDeselect={false}
        onChange={(each) => onChange(each ?? '')}
      />
    );
  if (setting.kind === 'long-text')
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxRows={12}
        maxLength={setting.name === 'BETA_FEATURES' ? 8_000 : 500}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  if (setting.name === 'NEW_USER_PLAN' && setting.editable)
    return (
      <Select
        {...common}
        data={plans.options ?? []}
        placeholder={t('noPlan')}
        value={value === '' ? null : value}
        clearable
        onChange={(each) => onChange(each ?? '')}
      />
    );
  const kind = MODEL_SETTINGS[setting.name];
  if (kind !== undefined && setting.editable)
    return <ModelField {...common} kind={kind} value={value} onChange={onChange} />;
  if (setting.name.endsWith('_QUOTA'))
    return (
      <AmountInput
        {...common}
        decimalScale={6}
        value={value === '' ? '' : Number(value) / perUnit}
        onChange={(credits) => onChange(credits === '' ? '' : String(creditsToQuota(Number(credits), perUnit)))}
      />
    );
  return (
    <TextInput
      {...common}
      inputMode={setting.kind === 'number' ? 'numeric' : 'text'}
      value={setting.editable || value !== '' ? value : t(setting.is_set ? 'set' : 'notSet')}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface ModelFieldProps extends Pick<SettingFieldProps, 'value' | 'onChange'> {
  readonly label: string;
  readonly description: string;
  readonly kind: 'chat' | 'video';
}

/** Chooses a model by its title; one that is no longer offered stays until another is chosen. */
function ModelField({ kind, value, onChange, ...common }: ModelFieldProps) {
  const { data: models } = useQuery(usableModelsQuery);
  const offered = toModelOptions((models ?? []).filter((model) => model.kind === kind));
  return (
    <Select
      {...common}
      data={value === '' || offered.some((model) => model.value === value) ? offered : [...offered, value]}
      filter={byLabelOrValue}
      searchable
      clearable
      value={value === '' ? null : value}
      onChange={(model) => onChange(model ?? '')}
    />
  );
}

interface LogoFieldProps {
  readonly label: string;
  readonly description: string;
  readonly disabled: boolean;
  /** A data URL once an image was chosen. */
  readonly value: string;
  readonly onChange: (dataUrl: string) => void;
}

function LogoField({ label, description, disabled, value, onChange }: LogoFieldProps) {
  const { t } = useTranslation('admin-settings');
  const toasts = useToasts();
  const read = (file: File | null): void => {
    if (file === null) return;
    if (file.size > MAX_LOGO_BYTES || !LOGO_TYPES.includes(file.type)) {
      toasts.error(t('logoTooLarge'));
      return;
    }
    readAsDataUrl(file).then(onChange, () => toasts.error(t('logoTooLarge')));
  };
  return (
    <Input.Wrapper label={label} description={description} labelElement="div" flex={1}>
      <Group mt={6}>
        <img src={value.startsWith('data:') ? value : '/logo'} width={40} height={40} alt="" />
        <FileButton accept={LOGO_TYPES} onChange={read}>
          {(props) => (
            <Button {...props} variant="default" size="sm" disabled={disabled}>
              {t('chooseLogo')}
            </Button>
          )}
        </FileButton>
      </Group>
    </Input.Wrapper>
  );
}

/** The host for which passkeys are valid, or why there are none. */
function PasskeyNote() {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  if (status === undefined) return null;
  return (
    <Text size="sm" c="dimmed" data-passkey-note>
      {t(`passkeys.settings.${status.passkeys}`, { host: new URL(status.server_address).hostname })}
    </Text>
  );
}
