import {
  Badge,
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
import { listSiteSettings, type SiteSetting, updateSiteSetting } from '../../../../contract/site-settings.ts';
import { useFormatCredits } from '../../../components/credit-amount.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Page } from '../../../components/page.tsx';
import { SettingsSection } from '../../../components/panel.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { dataQuery } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { readFileAsDataUrl } from '../../../data/data-url.ts';
import { useStatus } from '../../../data/self.ts';
import type en from '../../../strings/en/admin-settings.ts';
import { IdentityProviders } from './identity-providers.tsx';

/** Site settings by subject; each is saved separately and shows the source of its value. */
export function SettingsPage() {
  const { t } = useTranslation(['admin-settings', 'app']);
  const settings = useQuery(dataQuery(listSiteSettings, {}));
  const groups = [...new Set(settings.data?.map(({ group }) => group))];
  return (
    <Page title={t('app:pages.settings')} subtitle={t('lead')} size="md">
      <ErrorAlert error={settings.error} retry={() => void settings.refetch()} />
      {settings.isLoading ? <Skeleton h={480} radius="lg" /> : null}
      <Stack gap="lg">
        {groups.map((group) => (
          <SettingsSection key={group} title={t(`groups.${group}`)}>
            <Stack gap="lg">
              {settings.data
                ?.filter((setting: SiteSetting) => setting.group === group)
                .map((setting) =>
                  setting.kind === 'providers' ? (
                    <IdentityProviders key={setting.name} setting={setting} />
                  ) : (
                    <SettingRow key={`${setting.name} ${setting.value}`} setting={setting} />
                  ),
                )}
              {group === 'accounts' ? <PasskeyNote /> : null}
            </Stack>
          </SettingsSection>
        ))}
      </Stack>
    </Page>
  );
}

const SOURCE_COLORS = { environment: 'blue', database: 'teal', default: 'gray' } as const;

/** One setting: its input, the source of its value, and its actions. */
function SettingRow({ setting }: { readonly setting: SiteSetting }) {
  const { t } = useTranslation('admin-settings');
  const queries = useQueryClient();
  const toasts = useToasts();
  const [value, setValue] = useState(setting.value);
  const save = useMutation({
    mutationFn: (text: string | null) =>
      callApi(updateSiteSetting, { params: { name: setting.name }, body: { value: text } }),
    onSuccess: async () => {
      toasts.success(t('saved'));
      refreshLook();
      await queries.invalidateQueries();
    },
  });
  return (
    <Stack gap={6} data-setting={setting.name}>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <SettingField setting={setting} value={value} onChange={setValue} />
        {setting.editable ? (
          <Button
            variant="default"
            disabled={value === setting.value}
            loading={save.isPending}
            onClick={() => save.mutate(value)}
          >
            {t('save')}
          </Button>
        ) : null}
      </Group>
      <Group gap="xs">
        <Badge color={SOURCE_COLORS[setting.source]}>{t(`source.${setting.source}`)}</Badge>
        {setting.source === 'database' ? (
          <Button size="compact-xs" variant="subtle" color="gray" onClick={() => save.mutate(null)}>
            {t('reset')}
          </Button>
        ) : null}
      </Group>
      <ErrorAlert error={save.error} />
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

/** The input of a setting, by its kind. */
function SettingField({ setting, value, onChange }: SettingFieldProps) {
  const { t } = useTranslation('admin-settings');
  const formatCredits = useFormatCredits();
  const name = setting.name as keyof typeof en.names;
  const common = {
    label: t(`names.${name}`),
    description: t(`hints.${name}`),
    disabled: !setting.editable,
    flex: 1,
  };
  const isAmount = setting.name.endsWith('_QUOTA') && /^\d+$/.test(value);
  if (setting.kind === 'picture') return <LogoField {...common} onChange={onChange} />;
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
        maxLength={500}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return (
    <TextInput
      {...common}
      inputMode={setting.kind === 'number' ? 'numeric' : 'text'}
      value={setting.editable || value !== '' ? value : t(setting.is_set ? 'set' : 'notSet')}
      rightSection={
        isAmount ? (
          <Text size="xs" c="dimmed" pr="sm">
            {t('inCredits', { credits: formatCredits(Number(value)) })}
          </Text>
        ) : undefined
      }
      rightSectionWidth={isAmount ? 150 : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface LogoFieldProps {
  readonly label: string;
  readonly description: string;
  readonly disabled: boolean;
  readonly onChange: (dataUrl: string) => void;
}

function LogoField({ label, description, disabled, onChange }: LogoFieldProps) {
  const { t } = useTranslation('admin-settings');
  const toasts = useToasts();
  const read = (file: File | null): void => {
    if (file === null) return;
    if (file.size > MAX_LOGO_BYTES || !LOGO_TYPES.includes(file.type)) {
      toasts.error(t('logoTooLarge'));
      return;
    }
    readFileAsDataUrl(file).then(onChange, () => toasts.error(t('logoTooLarge')));
  };
  return (
    <Input.Wrapper label={label} description={description} labelElement="div" flex={1}>
      <Group mt={6}>
        <img src="/logo" width={40} height={40} alt="" />
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
  const { t } = useTranslation('passkeys');
  const { data: status } = useStatus();
  if (status === undefined) return null;
  return (
    <Text size="sm" c="dimmed" data-passkey-note>
      {t(`settings.${status.passkeys}`, { host: new URL(status.server_address).hostname })}
    </Text>
  );
}
