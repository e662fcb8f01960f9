// TLS by files that are read again.

import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";

import { fault } from "../errors.js";

/** The files that TLS goes by, in PEM. */
export interface TlsFiles {
  /** Whom to trust; absent: whom Node trusts. */
  readonly ca?: string | undefined;
  /** The client's certificate and key. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string } | undefined;
}

/** What connections are made with: the files as they are then, and what they had last while they cannot be used. */
export class SecureFiles {
  private last: SecureContextOptions;

  /** BAD_TARGET where they cannot be used now. */
  constructor(private readonly files: TlsFiles) {
    try {
      this.last = this.read();
    } catch (error) {
      throw fault("BAD_TARGET", error instanceof Error ? error.message : "the files cannot be used");
    }
  }

  options(): SecureContextOptions {
    try {
      this.last = this.read();
    } catch {
      // They are just being written, or are not there any more.
    }
    return this.last;
  }

  private read(): SecureContextOptions {
    const { ca, clientCertificate } = this.files;
    const options: SecureContextOptions = {
      minVersion: "TLSv1.2",
      ...(ca !== undefined && { ca: readFileSync(ca) }),
      ...(clientCertificate !== undefined && {
        cert: readFileSync(clientCertificate.cert),
        key: readFileSync(clientCertificate.key),
      }),
    };
    if (options.ca instanceof Buffer && !options.ca.includes("-----BEGIN CERTIFICATE-----")) {
      throw new Error(`the CA in ${ca ?? ""} is no certificate in PEM`);
    }
    createSecureContext(options); // which says what is wrong with them
    return options;
  }
}
