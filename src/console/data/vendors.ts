import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { listChannelPresets } from '../../contract/channels.ts';
import { listVendors } from '../../contract/models.ts';
import { dataQuery, type ResponseData } from './admin.ts';

/** A vendor with its credential schemes. */
export type Vendor = ResponseData<typeof listVendors>[number];
/** One set of credential fields a vendor accepts. */
export type CredentialScheme = Vendor['credentials'][number];
/** One field of a credential scheme. */
export type CredentialField = CredentialScheme['fields'][number];

/** The list of vendors only changes with a release of the server. */
const vendorsQuery = { ...dataQuery(listVendors, {}), staleTime: Number.POSITIVE_INFINITY } as const;

/** Vendors for which a channel can be created, titled in the language of the page; empty while loading. */
export function useVendors(): readonly Vendor[] {
  const { t } = useTranslation('admin-channels');
  const { data } = useQuery(vendorsQuery);
  return useMemo(
    () =>
      (data ?? []).map((vendor) => ({
        ...vendor,
        title: t(`vendors.${vendor.name as 'openai'}`, { defaultValue: vendor.title }),
      })),
    [data, t],
  );
}

/** The vendors as options of a select. */
export const toVendorOptions = (vendors: readonly Vendor[]) =>
  vendors.map(({ name, title }) => ({ value: name, label: title }));

/** Title of a vendor; its name while the vendors are loading. */
export const vendorTitle = (vendors: readonly Vendor[], name: string): string =>
  vendors.find((vendor) => vendor.name === name)?.title ?? name;

/** Preset of a known chat provider. */
export type ChannelPreset = ResponseData<typeof listChannelPresets>[number];

/** Presets of known chat providers; empty while loading. */
export const useChannelPresets = (): readonly ChannelPreset[] =>
  useQuery({ ...dataQuery(listChannelPresets, {}), staleTime: Number.POSITIVE_INFINITY }).data ?? [];
