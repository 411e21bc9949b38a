import { Card, Select, Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { makeChannel } from '../../../../contract/channels.ts';
import { Page } from '../../../components/page.tsx';
import { PageLoadingIndicator } from '../../../components/page-loading-indicator.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { toVendorOptions, useVendors } from '../../../data/vendor-queries.ts';
import { ChannelForm } from './channel-form.tsx';
import { type ChannelFormValues, newChannelFormValues, toChannelBody } from './channel-form-values.ts';

/** Adds an upstream account and goes to its page, where it is tested at once. */
export function NewChannelPage() {
  const { t } = useTranslation('admin-channels');
  const vendors = useVendors();
  const [name, setName] = useState<string | null>(null);
  const vendor = vendors.find((each) => each.name === name) ?? vendors[0];
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
            data={toVendorOptions(vendors)}
            value={vendor?.name ?? null}
            onChange={setName}
            allowDeselect={false}
            required
            withAsterisk={false}
          />
          {vendor === undefined ? (
            <PageLoadingIndicator />
          ) : (
            <ChannelForm
              key={vendor.name}
              vendor={vendor}
              initial={newChannelFormValues(vendor)}
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
