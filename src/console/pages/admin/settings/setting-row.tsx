import { Badge, Button, Group, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type SiteSetting, updateSiteSetting } from '../../../../contract/site-settings.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { callApi } from '../../../data/api-client.ts';
import { SettingField } from './setting-field.tsx';

const SOURCE_COLORS = { environment: 'blue', database: 'teal', default: 'gray' } as const;

/** One setting: its field, where its value comes from, and what can be done about it. */
export function SettingRow({ setting }: { readonly setting: SiteSetting }) {
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

/** Fetches colours and logo anew; the pages of others do so when they are opened. */
function refreshLook(): void {
  const version = Date.now();
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[href^="/tokens.css"], link[href^="/logo"]'))
    link.href = `${link.href.split('?')[0]}?${version}`;
  for (const image of document.querySelectorAll<HTMLImageElement>('img[src^="/logo"]')) image.src = `/logo?${version}`;
}
