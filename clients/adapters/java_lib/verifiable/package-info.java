/**
 * The client's half of the contract for Java programs: commands come on stdin, events go to stdout.
 *
 * <p>Java 17 and jackson-core, no more: a program is compiled together with these sources, beside
 * the client that it wraps. It supplies an {@link verifiable.Adapter}; {@link
 * verifiable.Program#run} does the rest.
 */
package verifiable;
