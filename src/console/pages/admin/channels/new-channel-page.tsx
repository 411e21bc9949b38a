import { Anchor, Card, List, Select, Stack, Text } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { makeChannel } from '../../../../contract/channels.ts';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { type ChannelPreset, toVendorOptions, useChannelPresets, useVendors } from '../../../data/vendors.ts';
import { currentLanguage } from '../../../strings/language.ts';
import { ChannelForm } from './channel-form.tsx';
import { type ChannelFormValues, newChannelFormValues, toChannelBody } from './channel-form-values.ts';

const PRESET = 'preset:';

/** Adds a channel and opens its page, which tests it immediately. */
export function NewChannelPage() {
  const { t } = useTranslation('admin-channels');
  const vendors = useVendors();
  const presets = useChannelPresets();
  const [choice, setChoice] = useState<string | null>(null);
  const preset = presets.find(({ id }) => choice === PRESET + id);
  const vendor = vendors.find(({ name }) => name === (preset?.dialect ?? choice)) ?? vendors[0];
  const invalidate = useInvalidateQueries();
  const navigate = useNavigate();
  const save = async (draft: ChannelFormValues): Promise<void> => {
    if (vendor === undefined) return;
    const { data } = await callApi(makeChannel, { body: toChannelBody(draft, vendor) });
    await invalidate();
    await navigate({ to: '/admin/channels/$id', params: { id: String(data.id) }, search: { test: true } });
  };
  return (
    <Page
      title={t('channels.make')}
      subtitle={<RouteLink to="/admin/channels">{t('channels.all')}</RouteLink>}
      size="sm"
    >
      <Card p={{ base: 'md', sm: 'xl' }}>
        <Stack>
          <Select
            label={t('channels.vendor')}
            description={t('channels.vendorHint')}
            data={[
              { group: t('presets.video'), items: toVendorOptions(vendors.filter(({ kind }) => kind === 'video')) },
              {
                group: t('presets.chat'),
                items: presets.map((each) => ({ value: PRESET + each.id, label: presetTitle(each) })),
              },
              { group: t('presets.other'), items: toVendorOptions(vendors.filter(({ kind }) => kind === 'chat')) },
            ]}
            value={preset === undefined ? (vendor?.name ?? null) : PRESET + preset.id}
            onChange={setChoice}
            allowDeselect={false}
            searchable
            nothingFoundMessage={t('presets.none')}
            maxDropdownHeight={320}
            required
            withAsterisk={false}
          />
          {preset === undefined ? null : <PresetFacts preset={preset} />}
          {vendor === undefined ? (
            <PageLoadingIndicator />
          ) : (
            <ChannelForm
              key={choice ?? vendor.name}
              vendor={vendor}
              initial={newChannelFormValues(vendor, preset && { ...preset, name: presetTitle(preset) })}
              isNew
              submitLabel={t('channels.saveAndTest')}
              save={save}
            />
          )}
        </Stack>
      </Card>
    </Page>
  );
}

const presetTitle = ({ title, title_zh: titleZh }: ChannelPreset): string =>
  currentLanguage() === 'zh-cn' ? titleZh : title;

/** Where to get keys from a provider, and its particularities. */
function PresetFacts({ preset }: { readonly preset: ChannelPreset }) {
  const { t } = useTranslation('admin-channels');
  return (
    <Stack gap={6}>
      {preset.key_page === '' ? null : (
        <Anchor href={preset.key_page} target="_blank" rel="noreferrer" size="sm" w="fit-content">
          {t('presets.keyPage', { name: presetTitle(preset) })} <IconExternalLink size={13} aria-hidden />
        </Anchor>
      )}
      {preset.deviations.length === 0 ? null : (
        <List size="sm" c="dimmed" spacing={4}>
          {preset.deviations.map((text) => (
            <List.Item key={text.en}>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {text[currentLanguage() === 'zh-cn' ? 'zh-CN' : 'en']}
              </Text>
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}
