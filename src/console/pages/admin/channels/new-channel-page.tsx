import { Card, Select, Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { makeChannel } from '../../../../contract/channels.ts';
import { Page } from '../../../components/page.tsx';
import { PageLoader } from '../../../components/page-loader.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/endpoint-queries.ts';
import { toVendorOptions, useVendors } from '../../../data/vendor-queries.ts';
import { type ChannelDraft, newChannelDraft, toChannelBody } from './channel-draft.ts';
import { ChannelForm } from './channel-form.tsx';

/** Adds an upstream account and goes to its page, where it is tested at once. */
export function NewChannelPage() {
  const { t } = useTranslation('admin-channels');
  const vendors = useVendors();
  const [name, setName] = useState<string | null>(null);
  const vendor = vendors.find((each) => each.name === name) ?? vendors[0];
  const invalidate = useInvalidateQueries();
  const navigate = useNavigate();
  const save = async (draft: ChannelDraft): Promise<void> => {
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
            data={toVendorOptions(vendors)}
            value={vendor?.name ?? null}
            onChange={setName}
            allowDeselect={false}
            required
            withAsterisk={false}
          />
          {vendor === undefined ? (
            <PageLoader />
          ) : (
            <ChannelForm
              key={vendor.name}
              vendor={vendor}
              initial={newChannelDraft(vendor)}
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
