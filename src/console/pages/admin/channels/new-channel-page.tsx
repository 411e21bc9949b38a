import { Card, Select, Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { makeChannel } from '../../../../contract/channels.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Page } from '../../../parts/page.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { type ChannelDraft, emptyDraft, toBody } from './channel-draft.ts';
import { ChannelForm } from './channel-form.tsx';
import { type ChannelVendor, VENDOR_CHOICES } from './vendors.ts';

/** Adds an upstream account and goes to its page, where it is tested at once. */
export function NewChannelPage() {
  const { t } = useTranslation('upstreams');
  const [vendor, setVendor] = useState<ChannelVendor>('kling');
  const refresh = useRefresh();
  const navigate = useNavigate();
  const save = async (draft: ChannelDraft): Promise<void> => {
    const { data } = await call(makeChannel, { body: toBody(draft) });
    await refresh();
    await navigate({ to: `/admin/channels/${data.id}` as string, search: { test: true } as never });
  };
  return (
    <Page title={t('channels.make')} lead={<ToLink to="/admin/channels">{t('channels.all')}</ToLink>} size="sm">
      <Card p={{ base: 'md', sm: 'xl' }}>
        <Stack>
          <Select
            label={t('channels.vendor')}
            description={t('channels.vendorHint')}
            data={VENDOR_CHOICES}
            value={vendor}
            onChange={(value) => setVendor((value ?? vendor) as ChannelVendor)}
            allowDeselect={false}
            required
            withAsterisk={false}
          />
          <ChannelForm key={vendor} start={emptyDraft(vendor)} isNew action={t('channels.saveAndTest')} save={save} />
        </Stack>
      </Card>
    </Page>
  );
}
