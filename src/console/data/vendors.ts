import { useQuery } from '@tanstack/react-query';
import { listChannelPresets } from '../../contract/channels.ts';
import { listVendors } from '../../contract/models.ts';
import { dataQuery, type ResponseData } from './admin.ts';

export type Vendor = ResponseData<typeof listVendors>[number];
/** One set of keys that a vendor accepts. */
export type CredentialScheme = Vendor['credentials'][number];
export type CredentialField = CredentialScheme['fields'][number];

/** Vendors change with a release of the server only. */
const vendorsQuery = { ...dataQuery(listVendors, {}), staleTime: Number.POSITIVE_INFINITY } as const;

/** Every vendor a channel can be made for; empty while they are being fetched. */
export const useVendors = (): readonly Vendor[] => useQuery(vendorsQuery).data ?? [];

/** The vendors as options of a select. */
export const toVendorOptions = (vendors: readonly Vendor[]) =>
  vendors.map(({ name, title }) => ({ value: name, label: title }));

/** The vendor's title; its name while the vendors are being fetched. */
export const vendorTitle = (vendors: readonly Vendor[], name: string): string =>
  vendors.find((vendor) => vendor.name === name)?.title ?? name;

export type ChannelPreset = ResponseData<typeof listChannelPresets>[number];

/** Known providers of the chat protocols; empty while they are being fetched. */
export const useChannelPresets = (): readonly ChannelPreset[] =>
  useQuery({ ...dataQuery(listChannelPresets, {}), staleTime: Number.POSITIVE_INFINITY }).data ?? [];
